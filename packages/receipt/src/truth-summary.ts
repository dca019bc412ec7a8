import type { Address, Hash, Hex } from '@upfront/protocol'
import { type LocalAccount, recoverTypedDataAddress } from 'viem'
import { jsonHash } from './json-hash.js'

/** How many of a day's transactions came out as predicted. */
export interface TruthCounts {
  /** Waiting or under construction. */
  seen: number
  predicted: number
  /** Of the predicted ones, those that were mined. */
  judged: number
  /** Whose status, gas and transfers were as predicted. */
  hits: number
  /** Of the others, those of which is known why. */
  explained: number
}

/** What a gateway states of its predictions of one day. */
export interface TruthSummary extends TruthCounts {
  chainId: number
  /** UTC, such as `2026-11-24`. */
  day: string
  /** Each miss with its explanation: JSON. */
  misses: readonly object[]
  /** Seconds since 1970. */
  issuedAt: number
}

export interface SignedTruthSummary extends TruthSummary {
  /** The address of the receipt key. */
  signer: Address
  /** EIP-712, 65 bytes. */
  signature: Hex
}

const COUNTS = ['seen', 'predicted', 'judged', 'hits', 'explained'] as const

/** EIP-712 types of a summary; `missesHash` is `jsonHash` of `misses`. */
export const TRUTH_TYPES = {
  Truth: [
    { name: 'day', type: 'string' },
    ...COUNTS.map((name) => ({ name, type: 'uint256' })),
    { name: 'missesHash', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint256' },
  ],
}

/** EIP-712 domain; `chainId` is that of the chain whose transactions are predicted. */
export const TRUTH_DOMAIN = { name: 'Upfront truth', version: '1' } as const

export async function signTruthSummary(summary: TruthSummary, account: LocalAccount): Promise<SignedTruthSummary> {
  const signature = await account.signTypedData(typedData(summary))
  return { ...summary, signer: account.address.toLowerCase() as Address, signature }
}

/** The address whose key made the signature: to be compared with the seller's receipt keys. @throws Error where it is no signature */
export async function truthSignerOf({ signature, ...summary }: SignedTruthSummary): Promise<Address> {
  return (await recoverTypedDataAddress({ ...typedData(summary), signature })).toLowerCase() as Address
}

function typedData(summary: TruthSummary) {
  const { chainId, day, misses, issuedAt } = summary
  const counts = Object.fromEntries(COUNTS.map((name) => [name, BigInt(summary[name])]))
  const missesHash: Hash = jsonHash(misses)
  return {
    domain: { ...TRUTH_DOMAIN, chainId },
    types: TRUTH_TYPES,
    primaryType: 'Truth',
    message: { day, ...counts, missesHash, issuedAt: BigInt(issuedAt) },
  } as const
}

import type { Address, Hash, Hex } from '@upfront/protocol'
import { type LocalAccount, recoverTypedDataAddress } from 'viem'
import { jsonHash } from './json-hash.js'

/** How many of a day's transactions were predicted correctly. */
export interface TruthCounts {
  /** Seen while waiting or under construction. */
  seen: number
  predicted: number
  /** Predicted transactions that were mined. */
  judged: number
  /** Judged transactions with the predicted status, gas and transfers. */
  hits: number
  /** Other judged transactions whose difference is explained. */
  explained: number
}

/** A gateway's statement about its predictions of one day. */
export interface TruthSummary extends TruthCounts {
  chainId: number
  /** UTC date, such as `2026-11-24`. */
  day: string
  /** Each miss with its explanation, as JSON. */
  misses: readonly object[]
  /** Unix time, in seconds. */
  issuedAt: number
}

export interface SignedTruthSummary extends TruthSummary {
  /** Address of the receipt key. */
  signer: Address
  /** EIP-712, 65 bytes. */
  signature: Hex
}

const COUNTS = ['seen', 'predicted', 'judged', 'hits', 'explained'] as const

/** EIP-712 types of a summary. `missesHash` is the `jsonHash` of `misses`. */
export const TRUTH_TYPES = {
  Truth: [
    { name: 'day', type: 'string' },
    ...COUNTS.map((name) => ({ name, type: 'uint256' })),
    { name: 'missesHash', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint256' },
  ],
}

/** EIP-712 domain. `chainId` is that of the predicted chain. */
export const TRUTH_DOMAIN = { name: 'Upfront truth', version: '1' } as const

export async function signTruthSummary(summary: TruthSummary, account: LocalAccount): Promise<SignedTruthSummary> {
  const signature = await account.signTypedData(typedData(summary))
  return { ...summary, signer: account.address.toLowerCase() as Address, signature }
}

/** The signing address, to compare with the seller's receipt keys. @throws Error if it is not a valid signature */
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

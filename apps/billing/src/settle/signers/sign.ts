import type { Address, Hash, Hex } from '@upfront/protocol'
import { and, eq, sql } from 'drizzle-orm'
import { keccak256 } from 'viem'
import type { Chain } from '../../chain/chain.js'
import { NodeFault } from '../../chain/node-error.js'
import type { Fees } from '../../chain/state.js'
import type { Transaction } from '../../ledger/ledger.js'
import { type SignedTransactionRow, signers } from '../../ledger/schema.js'

/** A transaction without its nonce, which is assigned when it is signed. */
export interface Intent {
  signer: Address
  to: Address
  data: Hex
  gas: bigint
}

/**
 * Takes the signer's next `count` nonces and returns the first. The signer's row stays locked until `tx` ends, so no two processes assign
 * the same nonce, and nonces are used up only together with stored transactions.
 */
export async function takeNonces(tx: Transaction, chain: Chain, signer: Address, count: number): Promise<number> {
  const [lease] = await tx
    .update(signers)
    .set({ nextNonce: sql`${signers.nextNonce} + ${count}` })
    .where(and(eq(signers.network, chain.network), eq(signers.address, signer)))
    .returning({ nextNonce: signers.nextNonce })
  if (lease === undefined) throw new NodeFault(`the nonce of ${signer} is not known yet`)
  return lease.nextNonce - count
}

/**
 * Signs a transaction and returns its row. With `delegate` it also delegates the signer's account to that contract (EIP-7702) and uses two
 * nonces: its own, and the next for the authorization.
 */
export async function signTransaction(
  { chainId, network, signers: keys }: Chain,
  { signer, to, data, gas }: Intent,
  nonce: number,
  { maxFeePerGas, maxPriorityFeePerGas }: Fees,
  delegate: Address | null = null,
): Promise<SignedTransactionRow> {
  const account = keys.get(signer)?.account
  if (account === undefined) throw new Error(`no key for ${signer}`)
  const fees = { maxFeePerGas, maxPriorityFeePerGas }
  const content = { chainId, nonce, to, data, gas, ...fees }
  const authorize = (address: Address) => account.signAuthorization({ address, chainId, nonce: nonce + 1 })
  const raw = await account.signTransaction(
    delegate === null
      ? { type: 'eip1559', ...content }
      : { type: 'eip7702', ...content, authorizationList: [await authorize(delegate)] },
  )
  const hash: Hash = keccak256(raw)
  return { hash, raw, status: 'open', signedAt: new Date(), network, signer, nonce, gas, ...fees }
}

/** A fee above this multiple of the current one is not raised any further. */
const MAX_RAISE = 10n

/**
 * Fees for a replacement: nodes require at least 10 % more, and the base fee may have risen further. `null` if the previous fee is already
 * far above the current one, or the new one would exceed `most` (wei per gas).
 */
export function raisedFees(previous: Fees, current: Fees, most: bigint): Fees | null {
  if (previous.maxFeePerGas > current.maxFeePerGas * MAX_RAISE) return null
  const raise = (fee: bigint) => (fee * 1125n) / 1000n + 1n
  const larger = (a: bigint, b: bigint) => (a > b ? a : b)
  const maxFeePerGas = larger(raise(previous.maxFeePerGas), current.maxFeePerGas)
  if (maxFeePerGas > most) return null
  return {
    maxFeePerGas,
    maxPriorityFeePerGas: larger(raise(previous.maxPriorityFeePerGas), current.maxPriorityFeePerGas),
  }
}

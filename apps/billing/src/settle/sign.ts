import type { Address, Hash, Hex } from '@upfront/protocol'
import { and, eq, sql } from 'drizzle-orm'
import { keccak256 } from 'viem'
import type { Chain } from '../chain/chain.js'
import type { Fees } from '../chain/gas-terms.js'
import { NodeFault } from '../chain/node-error.js'
import type { Transaction } from '../ledger/ledger.js'
import { type SignedTransactionRow, signedTransactions, signers } from '../ledger/schema.js'

/** What a transaction does; who sends it and with which nonce is decided when it is signed. */
export interface Intent {
  /** `null`: it only fills a nonce. */
  paymentId: string | null
  signer: Address
  to: Address
  data: Hex
  gas: bigint
}

/**
 * Takes the signer's next `count` nonces and answers the first. The signer's row stays locked until `tx` ends, so no two
 * processes give out one nonce, and nonces are used up only together with stored transactions.
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

/** Signs and stores a transaction for a nonce that the signer already has: a replacement. */
export async function signAndStore(
  tx: Transaction,
  chain: Chain,
  intent: Intent,
  nonce: number,
  fees: Fees,
): Promise<SignedTransactionRow> {
  const signed = await signTransaction(chain, intent, nonce, fees)
  await tx.insert(signedTransactions).values(signed)
  return signed
}

/** The row to be stored. */
export async function signTransaction(
  chain: Chain,
  { paymentId, signer, to, data, gas }: Intent,
  nonce: number,
  { maxFeePerGas, maxPriorityFeePerGas }: Fees,
): Promise<SignedTransactionRow> {
  const key = chain.signers.get(signer)
  if (key === undefined) throw new Error(`no key for ${signer}`)
  const fees = { maxFeePerGas, maxPriorityFeePerGas }
  const { chainId, network } = chain
  const raw = await key.account.signTransaction({ type: 'eip1559', chainId, nonce, to, data, gas, ...fees })
  const hash: Hash = keccak256(raw)
  return { hash, paymentId, network, signer, nonce, raw, gas, ...fees, status: 'open', signedAt: new Date() }
}

/** What a replacement may offer at most, as a multiple of the fees that are usual now. */
const HIGHEST_RAISE = 10n

/**
 * Nodes take a replacement for at least 10 % more; base fees may have risen by more than that meanwhile. `null`: it offers
 * so much already that more would not help, or more than `most` (wei per gas; `null`: no bound).
 */
export function raisedFees(previous: Fees, current: Fees, most: bigint | null = null): Fees | null {
  if (previous.maxFeePerGas > current.maxFeePerGas * HIGHEST_RAISE) return null
  const raise = (fee: bigint) => (fee * 1125n) / 1000n + 1n
  const larger = (a: bigint, b: bigint) => (a > b ? a : b)
  const maxFeePerGas = larger(raise(previous.maxFeePerGas), current.maxFeePerGas)
  if (most !== null && maxFeePerGas > most) return null
  return {
    maxFeePerGas,
    maxPriorityFeePerGas: larger(raise(previous.maxPriorityFeePerGas), current.maxPriorityFeePerGas),
  }
}

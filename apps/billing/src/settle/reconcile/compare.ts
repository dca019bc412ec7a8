import type { Address, Hash, Network } from '@upfront/protocol'
import { DrizzleQueryError, type SQL } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { NodeFault } from '../../chain/node-error.js'
import type { Log, Receipt } from '../../chain/receipt.js'
import { receiptAt } from '../../chain/settlement-batch.js'
import { addressIn } from '../../chain/settlement-call.js'
import { findPaymentById } from '../../ledger/find-payment.js'
import type { Database } from '../../ledger/ledger.js'
import type { PaymentRow } from '../../ledger/schema.js'
import { findTransfer, type Transfer } from '../outcome/find-receipt.js'
import { findSettlement } from '../outcome/find-settlement.js'
import { type BlockRange, type Recorded, readPlaces, readRecorded, readTransfers } from './read-facts.js'

/** Kinds of differences between the ledger and the chain. */
export const DIFFERENCES = [
  /** The ledger has a transfer that is not on chain. */
  'missing on chain',
  /** Both have the transfer, with different amounts. */
  'amount differs',
  /** Moved on chain by an authorization that the ledger has not recorded as settled this way. */
  'moved but not settled',
  /** Moved through the upto proxy to a known payTo, by an authorization that the ledger does not have. */
  'not in ledger',
  /** Moved to a known payTo by a settlement that can't be matched; or a block range whose transfers the node does not return. */
  'unexplained',
] as const

/** A difference between the ledger and the chain. Amounts in the token's smallest unit. */
export interface Difference {
  kind: (typeof DIFFERENCES)[number]
  network: Network
  asset: Address | null
  payTo: Address | null
  paymentId: string | null
  state: string | null
  transaction: Hash | null
  blockNumber: string
  ledgerAmount: string | null
  chainAmount: string | null
}

/** A result of comparing the ledger with the chain. */
export type Finding =
  /** The block of a settlement was dropped. */
  | { kind: 'dropped'; payment: PaymentRow }
  /** A failed or pending payment was settled by this transaction. */
  | { kind: 'settled'; payment: PaymentRow; receipt: Receipt; transfer: Transfer }
  | { kind: 'difference'; difference: Difference }

/** Transfers examined concurrently. */
const MAX_AT_ONCE = 40

/**
 * Compares the ledger with a range of blocks, both ways, for the payments selected by `where`. Used by `GET /reconciliation`
 * and for final blocks. Anything unexplained is reported as a difference, not an error. Changes nothing. Throws `NodeFault`.
 */
export async function compare(
  db: Database,
  chain: Chain,
  range: BlockRange,
  where: SQL | undefined = undefined,
): Promise<Finding[]> {
  const all = await readRecorded(db, chain.network, range, where)
  const dropped = await findDropped(db, chain, all)
  const gone = new Set(dropped.map(({ payment }) => payment.id))
  const kept = all.filter(({ paymentId }) => !gone.has(paymentId))
  const recorded = new Map(kept.map((one) => [keyOf(one.transaction, one.logIndex), one]))
  const places = await readPlaces(db, chain.network, where)
  const { logs, unread } = await readTransfers(chain, places, range)
  const findings: Finding[] = [...dropped]
  const unknown: Log[] = []
  for (const log of logs) {
    const key = keyOf(log.transactionHash, log.logIndex)
    const known = recorded.get(key)
    recorded.delete(key)
    if (known === undefined) unknown.push(log)
    else if (known.amount !== BigInt(log.data)) {
      const { paymentId, amount } = known
      findings.push(differenceOf(chain, 'amount differs', { ...movedBy(log), paymentId, ledgerAmount: `${amount}` }))
    }
  }
  for (const one of recorded.values()) {
    const isUnread = unread.some(({ from, to }) => one.blockNumber >= from && one.blockNumber <= to)
    if (isUnread) continue
    const { asset, payTo, paymentId, transaction, blockNumber, amount } = one
    const recordedAs = {
      asset,
      payTo,
      paymentId,
      transaction,
      blockNumber: `${blockNumber}`,
      ledgerAmount: `${amount}`,
    }
    findings.push(differenceOf(chain, 'missing on chain', recordedAs))
  }
  for (let at = 0; at < unknown.length; at += MAX_AT_ONCE) {
    const explained = await Promise.all(unknown.slice(at, at + MAX_AT_ONCE).map((log) => explain(db, chain, log)))
    findings.push(...explained.filter((finding) => finding !== null))
  }
  for (const { from, to } of unread) {
    findings.push(differenceOf(chain, 'unexplained', { blockNumber: from === to ? `${from}` : `${from}-${to}` }))
  }
  return findings
}

/** Finds settlements whose block was replaced by another. Throws `NodeFault`. */
export async function findDropped(
  db: Database,
  chain: Chain,
  recorded: readonly Recorded[],
): Promise<Extract<Finding, { kind: 'dropped' }>[]> {
  const replaced = await findReplacedBlocks(chain, recorded)
  const findings: Extract<Finding, { kind: 'dropped' }>[] = []
  for (const { blockHash, paymentId } of recorded) {
    const payment = replaced.has(blockHash) ? await findPaymentById(db, paymentId) : null
    if (payment?.blockHash === blockHash) findings.push({ kind: 'dropped', payment })
  }
  return findings
}

/** The hashes of the blocks at whose height the chain has another one. Throws `NodeFault`. */
export async function findReplacedBlocks(
  chain: Chain,
  blocks: readonly { blockNumber: bigint; blockHash: Hash }[],
): Promise<ReadonlySet<Hash>> {
  const numbers = [...new Set(blocks.map(({ blockNumber }) => blockNumber))]
  const current = new Map(
    await Promise.all(numbers.map(async (each) => [each, (await chain.header(each))?.hash] as const)),
  )
  const replaced = blocks.filter(({ blockNumber, blockHash }) => {
    const found = current.get(blockNumber) ?? null
    // `null`: a lagging node does not have the block yet.
    return found !== null && found !== blockHash
  })
  return new Set(replaced.map(({ blockHash }) => blockHash))
}

/** Explains a transfer missing in the ledger: a settlement, a difference, or `null` if it is not ours. Throws `NodeFault`. */
export async function explain(db: Database, chain: Chain, log: Log): Promise<Finding | null> {
  try {
    const found = await findSettlement(db, chain, log)
    if (found === null) return null
    if (found.payment === null) return differenceOf(chain, 'not in ledger', movedBy(log))
    const { payment, place } = found
    const differs = (kind: Difference['kind']) => {
      const { id: paymentId, charge, state } = payment
      return differenceOf(chain, kind, { ...movedBy(log), paymentId, state, ledgerAmount: charge?.toString() ?? null })
    }
    const whole = await chain.receipt(log.transactionHash)
    const receipt = whole === null ? null : receiptAt(whole, place, payment)
    const transfer = receipt?.succeeded ? findTransfer(payment, receipt.logs) : null
    if (receipt === null || transfer === null || transfer.logIndex !== log.logIndex) return differs('unexplained')
    const isUnderWay = payment.state === 'charging' || payment.state === 'submitted'
    // Also for a payment under way: its settler finds the settlement only while the node keeps the state of its block.
    if ((isUnderWay || payment.state === 'failed') && transfer.amount === payment.charge) {
      return { kind: 'settled', payment, receipt, transfer }
    }
    if (isUnderWay) return null
    // It may have been settled in the meantime.
    return (await findPaymentById(db, payment.id))?.transaction === log.transactionHash && payment.state !== 'failed'
      ? null
      : differs('moved but not settled')
  } catch (error) {
    // Without an answer from the node or the database nothing can be concluded.
    if (error instanceof NodeFault || error instanceof DrizzleQueryError) throw error
    return differenceOf(chain, 'unexplained', movedBy(log))
  }
}

/** Fields that are not given are `null`. */
function differenceOf(
  { network }: Chain,
  kind: Difference['kind'],
  given: Partial<Difference> & Pick<Difference, 'blockNumber'>,
): Finding {
  const nothing = { asset: null, payTo: null, paymentId: null, state: null, transaction: null }
  const amounts = { ledgerAmount: null, chainAmount: null }
  return { kind: 'difference', difference: { kind, network, ...nothing, ...amounts, ...given } }
}

function movedBy({ address: asset, topics, transactionHash: transaction, blockNumber, data }: Log) {
  return {
    asset,
    payTo: addressIn(topics[2]),
    transaction,
    blockNumber: `${blockNumber}`,
    chainAmount: `${BigInt(data)}`,
  }
}

function keyOf(transaction: Hash, logIndex: number): string {
  return `${transaction}/${logIndex}`
}

import { RefusalReason } from '@upfront/protocol'
import { and, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { BlockView } from '../../chain/block-view.js'
import type { Chain } from '../../chain/chain.js'
import type { Receipt } from '../../chain/receipt.js'
import { changePayment, type PaymentChange } from '../../ledger/change-payment.js'
import type { Database } from '../../ledger/ledger.js'
import { isUnclaimed, recordPaymentGas, recordTransfer, reverseBlock } from '../../ledger/record-receipt.js'
import { pardonPayer, refusePayer } from '../../ledger/refused-payers.js'
import { gas, type PaymentRow, payments, settlementItems, signedTransactions } from '../../ledger/schema.js'
import { findTransfer, readReceipt, type Transfer } from './find-receipt.js'

/**
 * Records a receipt that settles the payment: mined at once, settled after enough confirmations. A failed payment can become settled this
 * way. Returns the updated payment, or `null` if another process changed the payment first.
 */
export async function concludeSettled(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  receipt: Receipt,
  transfer: Transfer,
): Promise<PaymentRow | null> {
  const confirmed = confirmationsOf(chain, receipt) >= BigInt(chain.confirmations)
  if (!confirmed && (payment.blockHash === receipt.blockHash || payment.state === 'failed')) return payment
  const mined = describeMined(payment, receipt, transfer)
  if (!confirmed) {
    const isNew = sql`${payments.blockHash} is distinct from ${receipt.blockHash}`
    return changePayment(db, payment, { kind: 'mined', ...mined, where: and(isNew, mined.where) })
  }
  const healed = payment.state === 'failed' ? { reason: null, along: [...mined.along, pardonPayer()] } : {}
  return changePayment(db, payment, { kind: 'settled', to: 'settled', ...mined, ...healed })
}

/** Number of confirmations, including the transaction's own block. At least 1. */
export function confirmationsOf(chain: Chain, { blockNumber }: Receipt): bigint {
  const above = chain.head.number - blockNumber
  return above < 0n ? 1n : above + 1n
}

/** If the payment was mined in another block before, the chain has dropped that block. */
function describeMined(
  { blockHash }: PaymentRow,
  receipt: Receipt,
  transfer: Transfer,
): Pick<PaymentChange, 'set' | 'data' | 'where'> & { along: readonly SQL[] } {
  return {
    where: isUnclaimed(receipt, transfer),
    set: {
      transaction: receipt.hash,
      blockNumber: receipt.blockNumber,
      blockHash: receipt.blockHash,
      gasUsed: receipt.gasUsed,
      feePaid: receipt.fee,
      judgedBlock: null,
      doubt: null,
      doubtfulFrom: null,
    },
    data: {
      transaction: receipt.hash,
      block: receipt.blockNumber.toString(),
      gasUsed: receipt.gasUsed.toString(),
      feePaid: receipt.fee.toString(),
      transferred: transfer.amount.toString(),
      logIndex: transfer.logIndex,
    },
    along: [
      ...(blockHash === null || blockHash === receipt.blockHash ? [] : reverseBlock(blockHash)),
      markMined(receipt),
      ...ownGas(receipt),
      recordTransfer(receipt, transfer),
    ],
  }
}

/** A transaction sent by someone else costs the signer nothing. */
function ownGas(receipt: Receipt): SQL[] {
  return receipt.gasUsed === 0n ? [] : [recordPaymentGas(receipt)]
}

/**
 * Marks the transaction as mined once all its costs in this block are recorded. Until then it is open and `repairNonces` handles it: another
 * payment of the batch may have failed before it was mined.
 */
function markMined({ hash, blockHash }: Receipt): SQL {
  const recorded = sql`select from ${gas} where ${gas.transaction} = ${hash} and ${gas.blockHash} = ${blockHash} and ${gas.item} = other.item`
  const lacking = sql`select from ${settlementItems} as other where other.hash = ${hash} and other.payment_id <> changed.id
    and not exists (${recorded})`
  return sql`update ${signedTransactions} set status = case when exists (${lacking}) then 'open' else 'mined' end from changed
    where ${signedTransactions.hash} = ${hash}`
}

/**
 * Ends a payment that can't be settled as of `block`. `receipt`: its mined transaction, if one reverted or moved a wrong amount
 * (`transfer`). The payer is refused for a while, or permanently if it `burnsGas`, except if it is not at fault: the payment was possible
 * until its deadline, or our own key moved the wrong amount.
 */
export async function concludeFailed(
  db: Database,
  payment: PaymentRow,
  reason: string,
  block: Pick<BlockView, 'number' | 'hash'>,
  receipt: Receipt | null,
  transfer: Transfer | null = null,
  burnsGas = false,
): Promise<PaymentRow | null> {
  const isLate = reason === RefusalReason.deadlineExpired && (payment.doubt ?? reason) === reason && receipt === null
  // Anyone can send an `exact` authorization: the payer signed another amount for the same nonce.
  const isOurs = transfer !== null && payment.kind === 'upto-permit2'
  const spent = receipt === null ? {} : { gasUsed: receipt.gasUsed, feePaid: receipt.fee, transaction: receipt.hash }
  return changePayment(db, payment, {
    kind: 'failed',
    to: 'failed',
    reason,
    set: { ...spent, judgedBlock: block.number, blockNumber: null, blockHash: null },
    data: {
      transaction: receipt?.hash ?? payment.transaction,
      gasUsed: receipt?.gasUsed.toString() ?? null,
      block: block.number.toString(),
      blockHash: block.hash,
    },
    along: [
      ...(receipt === null ? [] : [markMined(receipt), ...ownGas(receipt)]),
      ...(receipt === null || transfer === null ? [] : [recordTransfer(receipt, transfer)]),
      ...(isLate || isOurs ? [] : [refusePayer(receipt?.gasUsed ?? 0n, burnsGas)]),
    ],
  })
}

/** Reopens a payment whose block was dropped, even if it was settled. Returns `null` if another process changed it first. */
export async function concludeReorged(db: Database, payment: PaymentRow): Promise<PaymentRow | null> {
  return changePayment(db, payment, {
    kind: 'reorged',
    to: 'submitted',
    where: isNotNull(payments.blockNumber),
    set: {
      blockNumber: null,
      blockHash: null,
      gasUsed: null,
      feePaid: null,
      nextLook: sql`now()`,
      ...(payment.state === 'settled' ? { takenBackAt: new Date() } : {}),
    },
    data: { transaction: payment.transaction, block: payment.blockNumber?.toString() ?? null },
    along: [
      sql`update ${signedTransactions} set status = 'open' where hash in (select hash from ${signedTransactions}
        where status <> 'displaced' and hash in (select item.hash from ${settlementItems} as item, changed where payment_id = changed.id)
        order by hash for no key update)`,
      ...(payment.blockHash === null ? [] : reverseBlock(payment.blockHash)),
    ],
  })
}

/**
 * Reopens a payment whose block was dropped. If it is in another block by now, records that and returns `null`; also `null` if another
 * process changed the payment first. Throws `NodeFault`.
 */
export async function reopen(db: Database, chain: Chain, payment: PaymentRow): Promise<PaymentRow | null> {
  const receipt = await readReceipt(db, chain, payment)
  const transfer = receipt?.succeeded ? findTransfer(payment, receipt.logs) : null
  if (!receipt || receipt.blockHash === payment.blockHash || transfer?.amount !== payment.charge) {
    return concludeReorged(db, payment)
  }
  await changePayment(db, payment, { kind: 'mined', ...describeMined(payment, receipt, transfer) })
  return null
}

import type { Logger } from '@upfront/service'
import { desc, eq } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { NodeRefusal } from '../../chain/node-error.js'
import { changePayment } from '../../ledger/change-payment.js'
import type { Database, Transaction } from '../../ledger/ledger.js'
import { refusePayer } from '../../ledger/refused-payers.js'
import { type PaymentRow, payments, type SignedTransactionRow, signedTransactions } from '../../ledger/schema.js'
import { storeTransaction } from '../../ledger/signed-transactions.js'
import { FUNDING_GAS, readLacking } from '../../verify/approval-cost.js'
import { parseApproval, type SignedApproval } from '../../verify/approval-transaction.js'
import { DEPTH_BLOCKS } from '../outcome/judge.js'
import { broadcast } from '../signers/broadcast.js'
import { raisedFees, signTransaction, takeNonces } from '../signers/sign.js'

/**
 * Does the next step towards the allowance of a charge whose payer sent an approval along: funds the payer, or sends the approval.
 * What was done is seen on chain and in the ledger alone, so that any process repeats it at any time: the approval is stored with
 * the payment, a funding before it is sent.
 * @returns whether the settlement is next: the allowance is there, or will not come. Throws `NodeFault` and `NodeRefusal`.
 */
export async function advanceApproval(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  feeBumpMilliseconds: number,
  logger: Logger,
): Promise<boolean> {
  const { id: paymentId, network, approvalTransaction: raw, payer, asset, charge, deadline } = payment
  if (raw === null || charge === null || deadline < chain.head.now()) return true
  if ((await chain.permit2Allowance(asset, payer)) >= charge) return true
  const approval = parseApproval(raw)
  const [count, { lacking }] = await Promise.all([
    chain.transactionCount(payer, 'latest'),
    readLacking(chain, payer, approval),
  ])
  if (count > approval.nonce) return didNotFollow(db, chain, payment, approval, logger)
  if (lacking === 0n) {
    await sendApproval(chain, approval, paymentId, logger)
    return false
  }
  const funding = await fund(db, chain, payment, lacking, feeBumpMilliseconds)
  if (funding === null) {
    logger.warn(
      { paymentId, network, lacking: `${lacking}` },
      'an approval waits: its payer was funded, or costs more by now',
    )
    return false
  }
  logger.info({ paymentId, network, transaction: funding.hash, value: `${funding.value}` }, 'funding an approval')
  await broadcast(chain, funding, logger)
  return false
}

async function sendApproval(
  chain: Chain,
  { raw, hash }: SignedApproval,
  paymentId: string,
  logger: Logger,
): Promise<void> {
  const { network } = chain
  logger.info({ paymentId, network, transaction: hash }, 'sending an approval')
  try {
    await chain.send(raw)
  } catch (error) {
    // Whatever it means (already known, too cheap), the allowance says what became of it.
    if (!(error instanceof NodeRefusal)) throw error
    logger.warn({ paymentId, network, transaction: hash, reason: error.message }, 'the approval was not taken')
  }
}

/**
 * The payer used the approval's nonce, and Permit2 may not move the charge. Held against the payer, where it was funded, as soon as
 * one deep block shows both: a node that lags shows either too early.
 */
async function didNotFollow(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  { nonce }: SignedApproval,
  logger: Logger,
): Promise<boolean> {
  const { id: paymentId, network, payer, asset, charge } = payment
  const confirmations = BigInt(chain.confirmations)
  const block = await chain.blockBelowHead(confirmations > DEPTH_BLOCKS ? confirmations : DEPTH_BLOCKS)
  if (block === null || (await block.transactionCount(payer)) <= nonce) return false
  if ((await block.permit2Allowance(asset, payer)) >= (charge ?? 0n)) return false
  if ((await readFundings(db, payment)).length > 0) {
    const data = { block: block.number.toString() }
    await changePayment(db, payment, { kind: 'approval did not follow', data, along: [refusePayer(FUNDING_GAS, true)] })
    logger.warn({ paymentId, network, payer }, 'a sponsored approval did not follow: its payer is refused from now on')
  }
  return true
}

/**
 * The transaction that brings the payer what it lacks: a new one, or the one that is under way, its fee raised where it is stuck. `null`:
 * the payer was funded, or lacks more than was reserved for it.
 */
async function fund(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  lacking: bigint,
  feeBumpMilliseconds: number,
): Promise<SignedTransactionRow | null> {
  const fundings = await readFundings(db, payment)
  const fees = await chain.fees()
  const signer = payment.facilitator
  const newest = fundings[0]
  if (newest?.status === 'open' && (await chain.transactionCount(signer, 'latest')) <= newest.nonce) {
    const isStuck = Date.now() - newest.signedAt.getTime() > feeBumpMilliseconds
    const raised = isStuck ? raisedFees(newest, fees, chain.maxFeePerGas) : null
    if (raised === null) return newest
    const intent = { signer, to: payment.payer, data: '0x' as const, gas: FUNDING_GAS, value: newest.value }
    const replacement = await signTransaction(chain, intent, newest.nonce, raised)
    return store(db, payment, fundings.length, async () => replacement)
  }
  // One that was mined is enough, however its status reads: what is still lacking then is not the signer's to give.
  if (newest?.status === 'open' || newest?.status === 'mined') return null
  for (const { hash } of fundings) if ((await chain.receipt(hash)) !== null) return null
  if (lacking > (payment.sponsoredGas ?? 0n)) return null
  const intent = { signer, to: payment.payer, data: '0x' as const, gas: FUNDING_GAS, value: lacking }
  return store(db, payment, fundings.length, async (tx) => {
    return signTransaction(chain, intent, await takeNonces(tx, chain, signer, 1), fees)
  })
}

/** Stores a funding, unless the payment has moved on or another process stored one meanwhile. */
function store(
  db: Database,
  payment: PaymentRow,
  known: number,
  sign: (tx: Transaction) => Promise<SignedTransactionRow>,
): Promise<SignedTransactionRow | null> {
  return db.transaction(async (tx) => {
    const [row] = await tx.select().from(payments).where(eq(payments.id, payment.id)).for('update')
    if (row?.state !== payment.state || (await readFundings(tx, payment)).length !== known) return null
    const transaction = { ...(await sign(tx)), funds: payment.id }
    await storeTransaction(tx, transaction, [])
    const data = { transaction: transaction.hash, nonce: transaction.nonce, value: `${transaction.value}` }
    await changePayment(tx, row, { kind: 'approval funded', data })
    return transaction
  })
}

/** Newest first. */
function readFundings(db: Database | Transaction, { id }: PaymentRow): Promise<SignedTransactionRow[]> {
  return db
    .select()
    .from(signedTransactions)
    .where(eq(signedTransactions.funds, id))
    .orderBy(desc(signedTransactions.signedAt))
}

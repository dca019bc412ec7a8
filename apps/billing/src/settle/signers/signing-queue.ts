import { Injectable } from '@nestjs/common'
import { sql } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { NodeFault } from '../../chain/node-error.js'
import { batchGasLimit, encodeBatch } from '../../chain/settlement-batch.js'
import { callOf } from '../../chain/settlement-call.js'
import type { Fees, SettlementCall } from '../../chain/state.js'
import { type Database, Ledger } from '../../ledger/ledger.js'
import { rowJson } from '../../ledger/row-json.js'
import { type PaymentRow, type SignedTransactionRow, signedTransactions } from '../../ledger/schema.js'
import { SharedTurns } from '../../ledger/shared-turns.js'
import { type Intent, signTransaction } from './sign.js'

/** Transactions per database transaction. More would hold the signer's lease for too long. */
const MAX_TRANSACTIONS = 16
/** Included in the gas of a single settlement, but not needed by an item of a batch. */
const TRANSACTION_GAS = 21_000n

/** The call that moves a payment's charge. */
export interface Settlement {
  payment: PaymentRow
  call: SettlementCall
}

interface Wanted {
  chain: Chain
  settlements: readonly Settlement[]
  fees: Fees
  /** The only nonce that it may get; `null`: the next one. */
  nonce: number | null
}

/** Settlements with their index in the request. */
interface Signed {
  place: number
  settlements: readonly Settlement[]
  transaction: SignedTransactionRow
}

interface Stored {
  outcome: 'stored' | 'other nonce' | 'moved on'
  /** The signer's next nonce. */
  next: number
  /** Ids of payments that another process changed first. */
  gone: readonly string[]
}

/**
 * Signs and stores settlements. Requests of one signer that arrive during a store share the next statement, and with it the signer's lease.
 */
@Injectable()
export class SigningQueue {
  /** By network and signer: this process's guess of the next nonce. Another process may have used it. */
  private readonly nonces = new Map<string, number>()
  private readonly turns = new SharedTurns<Wanted, SignedTransactionRow | null>(MAX_TRANSACTIONS, (wanted) =>
    this.signAll(wanted),
  )

  constructor(private readonly ledger: Ledger) {}

  /**
   * Signs and stores one transaction for these settlements of one signer, with the signer's next nonce. Payments that another process
   * changed are left out. Returns `null` if no payment was left, or if the next nonce is not `onlyNonce`.
   */
  sign(
    chain: Chain,
    settlements: readonly Settlement[],
    fees: Fees,
    onlyNonce: number | null = null,
  ): Promise<SignedTransactionRow | null> {
    return this.turns.call(`${chain.network}/${signerOf(settlements)}`, { chain, settlements, fees, nonce: onlyNonce })
  }

  private async signAll(wanted: readonly Wanted[]): Promise<(SignedTransactionRow | null)[]> {
    const [{ chain, settlements }] = wanted as readonly [Wanted, ...Wanted[]]
    const signer = signerOf(settlements)
    const key = `${chain.network}/${signer}`
    // The nonce is a guess until the ledger confirms it. A wrong guess only costs signatures.
    let first = wanted.find(({ nonce }) => nonce !== null)?.nonce ?? this.nonces.get(key) ?? 0
    for (;;) {
      const { transactions, next } = await signAndStore(this.ledger.db, wanted, first)
      this.nonces.set(key, next)
      if (transactions !== null) return transactions
      first = next
    }
  }
}

/** `transactions` is `null` if `first` is not the signer's next nonce. An entry is `null` if none of its payments was left to sign. */
async function signAndStore(
  db: Database,
  wanted: readonly Wanted[],
  first: number,
): Promise<{ transactions: (SignedTransactionRow | null)[] | null; next: number }> {
  const gone = new Set<string>()
  for (;;) {
    const signed: Signed[] = []
    const taken = new Set(gone)
    for (const [place, { chain, fees, nonce, settlements: all }] of wanted.entries()) {
      const settlements = all.filter(({ payment }) => !taken.has(payment.id))
      if (settlements.length === 0 || (nonce !== null && nonce !== first + signed.length)) continue
      for (const { payment } of settlements) taken.add(payment.id)
      const transaction = await signTransaction(chain, intentOf(settlements), first + signed.length, fees)
      signed.push({ place, settlements, transaction })
    }
    const stored: Stored =
      signed.length === 0 ? { outcome: 'stored', next: first, gone: [] } : await store(db, signed, first)
    if (stored.outcome === 'other nonce') return { transactions: null, next: stored.next }
    if (stored.outcome === 'stored') {
      const byPlace = new Map(signed.map(({ place, transaction }) => [place, transaction]))
      return { transactions: wanted.map((_, place) => byPlace.get(place) ?? null), next: stored.next }
    }
    for (const id of stored.gone) gone.add(id)
  }
}

/** Throws `NodeFault` if the ledger does not have the signer yet. */
async function store(db: Database, signed: readonly Signed[], first: number): Promise<Stored> {
  const [{ network, signer }] = signed.map(({ transaction }) => transaction) as [SignedTransactionRow]
  const transactions = signed.map(({ transaction }) => rowJson(signedTransactions, transaction))
  const items = signed.flatMap(({ settlements, transaction: { hash } }) =>
    settlements.map(({ payment: { id, state, transaction } }, item) => ({ id, state, transaction, hash, item })),
  )
  const [row] = await db
    .select({
      outcome: sql<Stored['outcome']>`outcome`,
      next: sql<string | null>`next`,
      gone: sql<string[] | null>`gone`,
    })
    .from(
      sql`store_settlements(${network}, ${signer}, ${first}::bigint, ${JSON.stringify(transactions)}::jsonb, ${JSON.stringify(items)}::jsonb)`,
    )
  if (row === undefined || row.next === null) throw new NodeFault(`the nonce of ${signer} is not known yet`)
  return { outcome: row.outcome, next: Number(row.next), gone: row.gone ?? [] }
}

/** Builds a charge's settlement; `null` if it would not succeed now. Throws `NodeFault`. */
export async function prepare(chain: Chain, payment: PaymentRow): Promise<Settlement | null> {
  if (payment.charge === null) throw new Error(`payment ${payment.id} was not charged`)
  if (payment.deadline < (await chain.head.nextTimestamp())) return null
  const call = callOf(payment, payment.charge)
  // The gas limit is the one that was verified and reserved. A call that needs more is not sent.
  return (await chain.latest.wouldSettle(call, payment.settlementGas)) ? { payment, call } : null
}

/** A single settlement is called directly; several are a batch of the signer's own account. */
export function intentOf(settlements: readonly Settlement[]): Intent {
  const signer = signerOf(settlements)
  const all = settlements.map(({ payment, call: { to, data } }) => ({ to, data, gas: payment.settlementGas }))
  const [first] = all
  if (first !== undefined && all.length === 1) return { signer, ...first }
  const items = all.map(({ to, data: call, gas }) => ({ to, call, gas: gas - TRANSACTION_GAS }))
  const data = encodeBatch(signer, items)
  return { signer, to: signer, data, gas: batchGasLimit(items, data) }
}

function signerOf([first]: readonly Settlement[]): PaymentRow['facilitator'] {
  if (first === undefined) throw new Error('nothing to settle')
  return first.payment.facilitator
}

import type { Address, Network } from '@upfront/protocol'
import { and, count, eq, inArray, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import type { Database } from './ledger.js'
import { type PaymentOrigin, type PaymentRow, payments } from './schema.js'

/** What one process may take up of one chain. */
export interface Claimant {
  network: Network
  /** Whose keys it has. */
  signers: readonly Address[]
  /** Payments that it works on, which it does not take twice. */
  working: readonly string[]
  /** Until another process, or this one, takes a payment up again. */
  nextLookMilliseconds: number
}

/** How many charges of one signer and origin may be submitted now. */
export interface Room {
  signer: Address
  origin: PaymentOrigin
  count: number
}

/**
 * Claims charges that are to be submitted: of each room no more than it has, what expires first in front. No other process gets
 * them until their next look. Nothing more is signed for payers that are refused.
 */
export function claimCharges(db: Database, claimant: Claimant, rooms: readonly Room[]): Promise<PaymentRow[]> {
  return claim(
    db,
    claimant,
    sql`select due.id from jsonb_to_recordset(${JSON.stringify(rooms)}::jsonb) as room(signer text, origin text, count int),
      lateral (
        select id from payments
        where network = ${claimant.network} and state = 'charging' and facilitator = room.signer and origin = room.origin
          and next_look <= now() and ${isFree(claimant)}
          and not exists (select from refused_payers as refused where refused.network = payments.network and refused.payer = payments.payer)
        order by deadline limit room.count for update skip locked
      ) as due`,
  )
}

/** Whether {@link claimCharges} would find anything for this signer. */
export async function hasCharges(db: Database, claimant: Claimant, signer: Address): Promise<boolean> {
  const due = await db
    .select({ id: payments.id })
    .from(payments)
    .where(
      and(
        eq(payments.network, claimant.network),
        eq(payments.facilitator, signer),
        eq(payments.state, 'charging'),
        sql`next_look <= now() and ${isFree(claimant)}`,
      ),
    )
    .limit(1)
  return due.length > 0
}

/** Gives charges back that were claimed and not submitted: their next look is now, or after so many milliseconds. */
export async function releaseCharges(db: Database, charges: readonly PaymentRow[], milliseconds = 0): Promise<void> {
  if (charges.length === 0) return
  const ids = charges.map(({ id }) => id)
  await db
    .update(payments)
    .set({ nextLook: sql`now() + ${milliseconds} * interval '1 millisecond'` })
    .where(and(inArray(payments.id, ids), eq(payments.state, 'charging')))
}

/** Claims up to `most` submitted payments that nobody has looked at for a while, among them mined ones up to `confirmedBlock`. */
export function claimSubmitted(
  db: Database,
  claimant: Claimant,
  confirmedBlock: bigint,
  most: number,
): Promise<PaymentRow[]> {
  return claim(
    db,
    claimant,
    sql`select id from payments
      where network = ${claimant.network} and state = 'submitted' and facilitator in ${claimant.signers}
        and next_look <= now() and ${isFree(claimant)}
        and (block_number is null or block_number <= ${confirmedBlock.toString()}::bigint)
      order by next_look limit ${most} for update skip locked`,
  )
}

/** The next look of what is claimed is set in the statement that locks it: a process that dies loses nothing but time. */
function claim(db: Database, { nextLookMilliseconds }: Claimant, ids: SQL): Promise<PaymentRow[]> {
  const nextLook = sql`now() + ${nextLookMilliseconds} * interval '1 millisecond'`
  return db.update(payments).set({ nextLook }).where(sql`${payments.id} = any(array(${ids}))`).returning()
}

function isFree({ working }: Claimant): SQL {
  return sql`id <> all(string_to_array(${working.join(',')}::text, ','))`
}

/** The submitted payments of each signer and origin; of these `count` are not mined yet. */
export function countSubmitted(
  db: Database,
  { network, signers }: Pick<Claimant, 'network' | 'signers'>,
): Promise<(Room & { submitted: number })[]> {
  return db
    .select({
      signer: payments.facilitator,
      origin: payments.origin,
      submitted: count(),
      count: sql<number>`(count(*) filter (where ${payments.blockNumber} is null))::int`,
    })
    .from(payments)
    .where(isSubmitted(network, signers))
    .groupBy(payments.facilitator, payments.origin)
}

/** The submitted payments that a new block may bring on: those not mined yet, and those mined in `confirmedBlock` or before. */
export function readSubmitted(
  db: Database,
  { network, signers }: Pick<Claimant, 'network' | 'signers'>,
  confirmedBlock: bigint,
): Promise<PaymentRow[]> {
  const isDue = or(isNull(payments.blockNumber), lte(payments.blockNumber, confirmedBlock))
  return db
    .select()
    .from(payments)
    .where(and(isSubmitted(network, signers), isDue))
}

function isSubmitted(network: Network, signers: readonly Address[]) {
  return and(
    eq(payments.network, network),
    eq(payments.state, 'submitted'),
    inArray(payments.facilitator, [...signers]),
  )
}

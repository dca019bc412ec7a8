import type { Address, Network } from '@upfront/protocol'
import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { isInState } from './is-in-state.js'
import type { Database } from './ledger.js'
import { isOfRefusedContract } from './refused-payers.js'
import { type PaymentRow, payments } from './schema.js'

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

/** How many charges of one signer may be submitted now. */
export interface SignerCapacity {
  signer: Address
  count: number
}

/** What one signer has to do; `count` is how many of its submitted payments are not mined yet. */
export interface Work extends SignerCapacity {
  /** Whether {@link claimCharges} would find any. */
  hasCharges: boolean
  /** Whether {@link claimSubmitted} would find any. */
  hasSubmitted: boolean
}

/** Everything that a claimant decides by, in one statement: most of the time there is nothing to claim. */
export function readWork(db: Database, claimant: Claimant, confirmedBlock: bigint): Promise<Work[]> {
  return db
    .select({
      signer: sql<Address>`capacity.signer`,
      count: sql<number>`(select count(*)::int from payments where network = ${claimant.network}
        and facilitator = capacity.signer and state = 'submitted' and block_number is null)`,
      hasCharges: sql<boolean>`exists (select from payments where ${isToSubmit(claimant)})`,
      hasSubmitted: sql<boolean>`exists (select from payments where ${isToLookAt(claimant, confirmedBlock)}
        and facilitator = capacity.signer)`,
    })
    .from(sql`jsonb_array_elements_text(${JSON.stringify(claimant.signers)}::jsonb) as capacity(signer)`)
}

/**
 * Claims charges that are to be submitted: of each capacity no more than it has, what expires first in front. No other process gets
 * them until their next look. Nothing more is signed for contracts that burn gas.
 */
export function claimCharges(
  db: Database,
  claimant: Claimant,
  capacities: readonly SignerCapacity[],
): Promise<PaymentRow[]> {
  return claim(
    db,
    claimant,
    sql`select due.id from jsonb_to_recordset(${JSON.stringify(capacities)}::jsonb) as capacity(signer text, count int),
      lateral (
        select id from payments where ${isToSubmit(claimant)} order by deadline limit capacity.count for update skip locked
      ) as due`,
  )
}

/** A charge of `capacity` that is due. */
function isToSubmit(claimant: Claimant): SQL {
  return sql`network = ${claimant.network} and state = 'charging' and facilitator = capacity.signer
    and next_look <= now() and ${isFree(claimant)}
    and not ${isOfRefusedContract}`
}

/** Gives charges back that were claimed and not submitted. */
export async function releaseCharges(db: Database, charges: readonly PaymentRow[]): Promise<void> {
  if (charges.length === 0) return
  const ids = charges.map(({ id }) => id)
  await db
    .update(payments)
    .set({ nextLook: sql`now()` })
    .where(and(inArray(payments.id, ids), isInState('charging')))
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
    sql`select id from payments where ${isToLookAt(claimant, confirmedBlock)} and facilitator in ${claimant.signers}
      order by next_look limit ${most} for update skip locked`,
  )
}

function isToLookAt(claimant: Claimant, confirmedBlock: bigint): SQL {
  return sql`network = ${claimant.network} and state = 'submitted' and next_look <= now() and ${isFree(claimant)}
    and (block_number is null or block_number <= ${confirmedBlock.toString()}::bigint)`
}

/** The next look of what is claimed is set in the statement that locks it: a process that dies loses nothing but time. */
function claim(db: Database, { nextLookMilliseconds }: Claimant, ids: SQL): Promise<PaymentRow[]> {
  const nextLook = sql`now() + ${nextLookMilliseconds} * interval '1 millisecond'`
  return db.update(payments).set({ nextLook }).where(sql`${payments.id} = any(array(${ids}))`).returning()
}

function isFree({ working }: Claimant): SQL {
  return sql`id <> all(string_to_array(${working.join(',')}::text, ','))`
}

/** All submitted payments, whichever process has submitted them. */
export function readSubmitted(db: Database, { network, signers }: Claimant): Promise<PaymentRow[]> {
  return db
    .select()
    .from(payments)
    .where(and(eq(payments.network, network), isInState('submitted'), inArray(payments.facilitator, [...signers])))
}

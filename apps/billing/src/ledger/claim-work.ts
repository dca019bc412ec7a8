import type { Address, Network } from '@upfront/protocol'
import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { lockPayments } from './change-payment.js'
import { isInState } from './is-in-state.js'
import type { Database } from './ledger.js'
import { isOfRefusedContract } from './refused-payers.js'
import { type PaymentRow, payments } from './schema.js'

/** A process that claims work on one chain. */
export interface Claimant {
  network: Network
  /** The signers whose keys it has. */
  signers: readonly Address[]
  /** Ids of payments that it is already working on; these are not claimed again. */
  working: readonly string[]
  /** How long a claimed payment is hidden from further claims. */
  nextLookMilliseconds: number
}

/** How many charges of one signer may be submitted now. */
export interface SignerCapacity {
  signer: Address
  count: number
}

/** Pending work of one signer; `count` is the number of submitted payments that are not mined yet. */
export interface Work extends SignerCapacity {
  /** Whether {@link claimCharges} would find any. */
  hasCharges: boolean
  /** Whether {@link claimSubmitted} would find any. */
  hasSubmitted: boolean
}

/** Reads the pending work of all signers in one statement: usually there is nothing to claim. */
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
 * Claims charges to submit, earliest deadline first, up to each signer's capacity. No other process gets them until their next look. Skips
 * payers whose contracts burn gas.
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
        select id from payments where ${isToSubmit(claimant)} order by deadline limit capacity.count for no key update skip locked
      ) as due`,
  )
}

/** Selects due charges of the signer in `capacity`. */
function isToSubmit(claimant: Claimant): SQL {
  return sql`network = ${claimant.network} and state = 'charging' and facilitator = capacity.signer
    and next_look <= now() and ${isFree(claimant)}
    and not ${isOfRefusedContract}`
}

/** Makes charges that were claimed but not submitted claimable again, at once. */
export async function releaseCharges(db: Database, charges: readonly PaymentRow[]): Promise<void> {
  if (charges.length === 0) return
  const ids = charges.map(({ id }) => id)
  await db.transaction(async (tx) => {
    await lockPayments(tx, ids)
    await tx
      .update(payments)
      .set({ nextLook: sql`now()` })
      .where(and(inArray(payments.id, ids), isInState('charging')))
  })
}

/** Claims up to `most` submitted payments that are due for a look, including mined ones up to `confirmedBlock`. */
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
      order by next_look limit ${most} for no key update skip locked`,
  )
}

function isToLookAt(claimant: Claimant, confirmedBlock: bigint): SQL {
  return sql`network = ${claimant.network} and state = 'submitted' and next_look <= now() and ${isFree(claimant)}
    and (block_number is null or block_number <= ${confirmedBlock.toString()}::bigint)`
}

/** Locks rows and sets their next look in one statement: if the process dies, another takes them up later. */
function claim(db: Database, { nextLookMilliseconds }: Claimant, ids: SQL): Promise<PaymentRow[]> {
  const nextLook = sql`now() + ${nextLookMilliseconds} * interval '1 millisecond'`
  return db.update(payments).set({ nextLook }).where(sql`${payments.id} = any(array(${ids}))`).returning()
}

function isFree({ working }: Claimant): SQL {
  return sql`id <> all(string_to_array(${working.join(',')}::text, ','))`
}

/** All submitted payments of these signers, whichever process submitted them. */
export function readSubmitted(db: Database, { network, signers }: Claimant): Promise<PaymentRow[]> {
  return db
    .select()
    .from(payments)
    .where(and(eq(payments.network, network), isInState('submitted'), inArray(payments.facilitator, [...signers])))
}

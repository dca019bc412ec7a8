import { sql } from 'drizzle-orm'
import type { EventData } from './change-payment.js'
import type { Database, Transaction } from './ledger.js'
import { rowJson } from './row-json.js'
import { idempotencyKeys, type NewPaymentRow, payments } from './schema.js'

/** Limits the gas paid for a payer. */
export interface Sponsoring {
  /** Wei in 24 hours, in addition to the value of the payer's settled charges. */
  most: bigint
  /** Value of one token in wei. */
  weiPerToken: bigint
  decimals: number
}

export interface Reservation {
  /**
   * `used`: the authorization was used before. `named`: the payer used the identifier for another payment. `uncovered`: balance or
   * allowance is too low. `overspent`: the permit or the payer's code needs more gas than is sponsored and paid for. Only `reserved` stores
   * anything.
   */
  outcome: 'reserved' | 'used' | 'named' | 'uncovered' | 'overspent'
  /** Sum of the payer's other reservations, in the token's smallest unit. */
  reserved: bigint
  /** Sequence of the new row; `null` if nothing was stored. */
  sequence: bigint | null
}

/** A reservation to make. */
export interface Wanted {
  payment: NewPaymentRow
  /** `null` for a dry run: nothing is stored, and `reserved` means that it would be. */
  event: EventData | null
  /** The idempotency key of the call. */
  key: typeof idempotencyKeys.$inferInsert | null
  /** The payer's balance and allowance as of `payment.authorizedBlock`, smallest unit. */
  holdings: { balance: bigint; allowance: bigint }
  sponsoring: Sponsoring
}

/**
 * Stores new payments, their first events and their keys, one after another. Each is stored only if the payer's holdings cover it in
 * addition to all open reservations. A payment with a permit must be the payer's only open one in that token, and its gas must fit the
 * remaining budget. Throws (see {@link isKeyTaken}) and stores nothing if another call has taken the key.
 */
export async function reservePayments(db: Database | Transaction, wanted: readonly Wanted[]): Promise<Reservation[]> {
  const calls = wanted.map(({ payment, event, key, holdings, sponsoring }) => ({
    ...{ payment: rowJson(payments, payment), event, key: key && rowJson(idempotencyKeys, key) },
    ...{ balance: `${holdings.balance}`, allowance: `${holdings.allowance}`, most: `${sponsoring.most}` },
    ...{ wei: `${sponsoring.weiPerToken}`, units: `${10n ** BigInt(sponsoring.decimals)}` },
  }))
  const rows = await db
    .select({
      id: sql<string>`payment ->> 'id'`,
      outcome: sql<Reservation['outcome']>`outcome`,
      reserved: sql<string>`reserved`,
      place: sql<string | null>`place`,
    })
    .from(
      sql`jsonb_to_recordset(${JSON.stringify(calls)}::jsonb) as call(payment jsonb, event jsonb, key jsonb, balance numeric,
          allowance numeric, most numeric, wei numeric, units numeric),
        lateral reserve_payment(payment, event, key, balance, allowance, most, wei / units)`,
    )
  const found = new Map(rows.map((row) => [row.id, row]))
  return wanted.map(({ payment: { id } }) => {
    const row = found.get(id)
    if (row === undefined) throw new Error('a reservation without an outcome')
    const { outcome, reserved, place } = row
    return { outcome, reserved: BigInt(reserved), sequence: place === null ? null : BigInt(place) }
  })
}

const UNIQUE_VIOLATION = '23505'

/** Whether the error means that another call has taken the idempotency key. Nothing was written then. */
export function isKeyTaken(error: unknown): boolean {
  const cause =
    error instanceof Error ? (error.cause as { code?: unknown; constraint?: unknown } | undefined) : undefined
  return cause?.code === UNIQUE_VIOLATION && cause.constraint === 'idempotency_keys_pkey'
}

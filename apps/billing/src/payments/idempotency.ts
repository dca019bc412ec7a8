import { createHash } from 'node:crypto'
import type { Address } from '@upfront/protocol'
import { eq } from 'drizzle-orm'
import type { Database } from '../ledger/ledger.js'
import { idempotencyKeys } from '../ledger/schema.js'
import { BillingError } from './billing-error.js'

/** A call with a key chosen by the caller. */
export interface KeyedCall {
  key: string
  operation: 'authorize' | 'charge' | 'release'
  /** {@link hashInput} of all inputs of the call. */
  inputHash: string
}

/** Result of the first call with this key. */
export interface FirstResult {
  paymentId: string | null
  refusal: { reason: string; message: string; payer: Address | null } | null
}

/** Maximum nesting of inputs, far above that of real offers. Deeper nesting could exhaust the stack. */
const MAX_DEPTH = 64

/** SHA-256 of JSON with sorted keys, so the order of fields does not matter. Throws `invalid_request` on deep nesting. */
export function hashInput(input: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(input, 0)))
    .digest('hex')
}

function sortKeys(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH)
    throw new BillingError('invalid_request', `body: is nested deeper than ${MAX_DEPTH} levels`, 'body')
  if (Array.isArray(value)) return value.map((item) => sortKeys(item, depth + 1))
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item, depth + 1)]))
}

/** The key's first result; `null` if the key is new. Throws `idempotency_key_reused` if the input differs. */
export async function findFirstResult(db: Database, call: KeyedCall): Promise<FirstResult | null> {
  const [row] = await db.select().from(idempotencyKeys).where(eq(idempotencyKeys.key, call.key))
  if (row === undefined) return null
  if (row.operation !== call.operation || row.inputHash !== call.inputHash) {
    throw new BillingError(
      'idempotency_key_reused',
      'this idempotency key was used for another call',
      'Idempotency-Key',
    )
  }
  return { paymentId: row.paymentId, refusal: row.refusal }
}

/** Stores this result unless the key has one, and returns the key's first result. */
export async function keepResult(db: Database, call: KeyedCall, result: FirstResult): Promise<FirstResult> {
  const taken = await db
    .insert(idempotencyKeys)
    .values({ ...call, ...result, createdAt: new Date() })
    .onConflictDoNothing()
    .returning({ key: idempotencyKeys.key })
  return taken.length === 1 ? result : ((await findFirstResult(db, call)) ?? result)
}

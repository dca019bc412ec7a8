import type { PaymentState } from '@upfront/protocol'
import { type SQL, sql } from 'drizzle-orm'
import { payments } from './schema.js'

/** The states are literals, not parameters: otherwise a cached plan can't use a partial index. */
export function isInState(...states: readonly PaymentState[]): SQL {
  return sql`${payments.state} in (${sql.raw(states.map((state) => `'${state}'`).join(', '))})`
}

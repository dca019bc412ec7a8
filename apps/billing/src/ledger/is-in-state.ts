import type { PaymentState } from '@upfront/protocol'
import { type SQL, sql } from 'drizzle-orm'
import { payments } from './schema.js'

/** The states are part of the statement, no parameters: a plan that is kept can't use an index of some states otherwise. */
export function isInState(...states: readonly PaymentState[]): SQL {
  return sql`${payments.state} in (${sql.raw(states.map((state) => `'${state}'`).join(', '))})`
}

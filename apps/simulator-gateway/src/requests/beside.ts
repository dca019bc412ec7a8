import type { JsonText } from '@upfront/protocol'

/** What stands beside a result, by name: charge, receipt, witness. */
export type Beside = Readonly<Record<string, JsonText>>

/** The fields, each with a comma before it. */
export function besideJson(beside: Beside): JsonText[] {
  return Object.entries(beside).flatMap(([name, json]) => [`,"${name}":`, json])
}

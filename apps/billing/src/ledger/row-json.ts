import { getTableColumns, type Table } from 'drizzle-orm'

/** A row by column names, as JSON for `jsonb_populate_record`. Bigints become decimal strings. */
export function rowJson(table: Table, row: Record<string, unknown>): Record<string, unknown> {
  const json = (value: unknown) => (typeof value === 'bigint' ? value.toString() : (value ?? null))
  return Object.fromEntries(Object.entries(getTableColumns(table)).map(([field, { name }]) => [name, json(row[field])]))
}

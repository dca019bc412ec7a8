import { getTableColumns, type Table } from 'drizzle-orm'

/** A row by the names of its columns, as JSON that `jsonb_populate_record` reads: every bigint a decimal string. */
export function rowJson(table: Table, row: Record<string, unknown>): Record<string, unknown> {
  const json = (value: unknown) => (typeof value === 'bigint' ? value.toString() : (value ?? null))
  return Object.fromEntries(Object.entries(getTableColumns(table)).map(([field, { name }]) => [name, json(row[field])]))
}

import { cpSync } from 'node:fs'
import { createDatabase, type Postgres, postgresMissing, startPostgres } from './postgres.js'

/** A store for billing's ledger, for tests that run on each store. */
export interface LedgerStore {
  name: 'PGlite' | 'Postgres'
  /** Why it can't be tested here, or `null`. */
  missing: string | null
  start(): Promise<void>
  /** Environment variables that select a new, empty ledger on it. */
  variables(): Promise<Record<string, string>>
  stop(): Promise<void>
}

let databases = 0

/**
 * A folder for `BILLING_DATA_DIR` with a copy of the empty ledger that `npm test` made (`EMPTY_LEDGER`), because creating one takes PGlite
 * four CPU-seconds. Without it the folder stays empty, and billing creates the ledger. @returns the folder
 */
export function emptyLedger(folder: string): string {
  if (process.env.EMPTY_LEDGER !== undefined) cpSync(process.env.EMPTY_LEDGER, folder, { recursive: true })
  return folder
}

/**
 * The two stores on which the ledger's behaviour is tested. The caller chooses PGlite's folder. Postgres is the server that apps/billing's
 * stores-setup.mjs started for all test files, with an empty ledger to copy, if these run together; otherwise one that `start` starts.
 */
export function ledgerStores(): LedgerStore[] {
  const { TEST_POSTGRES_URL: shared, TEST_POSTGRES_TEMPLATE: template } = process.env
  let postgres: Postgres | undefined
  return [
    { name: 'PGlite', missing: null, start: async () => {}, variables: async () => ({}), stop: async () => {} },
    {
      name: 'Postgres',
      missing: postgresMissing(),
      start: async () => {
        if (shared === undefined) postgres = await startPostgres()
      },
      variables: async () => {
        const url = shared ?? postgres?.url
        if (url === undefined) throw new Error('postgres is not started')
        databases += 1
        const name = `ledger_${process.pid}_${Date.now()}_${databases}`
        return { DATABASE_URL: createDatabase(url, name, shared === undefined ? undefined : template) }
      },
      stop: async () => postgres?.stop(),
    },
  ]
}

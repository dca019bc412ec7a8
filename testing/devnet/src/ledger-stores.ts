import { cpSync } from 'node:fs'
import { type Postgres, postgresMissing, startPostgres } from './postgres.js'

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

/** The two stores on which the ledger's behaviour is tested. The caller chooses PGlite's folder. */
export function ledgerStores(): LedgerStore[] {
  let postgres: Postgres | null = null
  return [
    { name: 'PGlite', missing: null, start: async () => {}, variables: async () => ({}), stop: async () => {} },
    {
      name: 'Postgres',
      missing: postgresMissing(),
      start: async () => {
        postgres = await startPostgres()
      },
      variables: async () => {
        if (postgres === null) throw new Error('postgres is not started')
        databases += 1
        return { DATABASE_URL: postgres.createDatabase(`ledger_${process.pid}_${databases}`) }
      },
      stop: async () => postgres?.stop(),
    },
  ]
}

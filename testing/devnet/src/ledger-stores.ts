import { cpSync } from 'node:fs'
import { type Postgres, postgresMissing, startPostgres } from './postgres.js'

/** Where billing can keep its ledger, for tests that run on each. */
export interface LedgerStore {
  name: 'PGlite' | 'Postgres'
  /** Why it can't be tested here, or `null`. */
  missing: string | null
  start(): Promise<void>
  /** The environment variables that put a new, empty ledger on it. */
  variables(): Promise<Record<string, string>>
  stop(): Promise<void>
}

let databases = 0

/**
 * A folder for `BILLING_DATA_DIR`, with the empty ledger in it that `npm test` has made (`EMPTY_LEDGER`): making one takes PGlite four
 * CPU-seconds. Elsewhere it stays empty, and billing makes one there. @returns the folder
 */
export function emptyLedger(folder: string): string {
  if (process.env.EMPTY_LEDGER !== undefined) cpSync(process.env.EMPTY_LEDGER, folder, { recursive: true })
  return folder
}

/** The two stores that every behaviour of the ledger is tested on. PGlite's folder is the caller's to choose. */
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

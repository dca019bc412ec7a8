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

import { type Postgres, postgresMissing, startPostgres } from '@upfront/devnet'

export interface Store {
  name: 'PGlite' | 'Postgres'
  /** Why it can't be tested here, or `null`. */
  missing: string | null
  start(): Promise<void>
  /** The variables that put a new, empty ledger on it. */
  variables(): Promise<NodeJS.ProcessEnv>
  stop(): Promise<void>
}

let databases = 0

/** The two stores that every ledger behaviour is tested on. */
export function stores(): Store[] {
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

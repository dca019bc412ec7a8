import { type LedgerStore, ledgerStores } from '@upfront/devnet'
import { Client } from 'pg'
import { copyEmptyPglite } from './empty-pglite.js'

export type Store = LedgerStore

let databases = 0

/** The two stores on which all behaviour of the ledger itself is tested. */
export function stores(): Store[] {
  return ledgerStores().map((store) =>
    store.name === 'Postgres' ? onSharedServer(store) : { ...store, variables: copyEmptyPglite },
  )
}

/** Postgres if it is installed, otherwise PGlite: for behaviour that does not depend on the store. */
export function oneStore(): Store[] {
  const [pglite, postgres] = stores() as [Store, Store]
  return [postgres.missing === null ? postgres : pglite]
}

/** The server that `stores-setup.mjs` started for all test files. */
function onSharedServer(store: Store): Store {
  const url = process.env.TEST_POSTGRES_URL
  if (url === undefined) return store
  const variables = async () => {
    databases += 1
    const name = `ledger_${process.pid}_${Date.now()}_${databases}`
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query(`create database ${name} template ${process.env.TEST_POSTGRES_TEMPLATE}`)
    await client.end()
    return { DATABASE_URL: Object.assign(new URL(url), { pathname: `/${name}` }).href }
  }
  return { ...store, start: async () => {}, variables, stop: async () => {} }
}

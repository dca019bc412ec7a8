import { type LedgerStore, ledgerStores } from '@upfront/devnet'
import { copyEmptyPglite } from './empty-pglite.js'

export type Store = LedgerStore

/** The two stores on which all behaviour of the ledger itself is tested. */
export function stores(): Store[] {
  return ledgerStores().map((store) => (store.name === 'Postgres' ? store : { ...store, variables: copyEmptyPglite }))
}

/** Postgres if it is installed, otherwise PGlite: for behaviour that does not depend on the store. */
export function oneStore(): Store[] {
  const [pglite, postgres] = stores() as [Store, Store]
  return [postgres.missing === null ? postgres : pglite]
}

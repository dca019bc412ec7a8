export { type LedgerStore as Store, ledgerStores as stores } from '@upfront/devnet'

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresMissing, startPostgres } from '@upfront/devnet'
import { openLedger } from '../../dist/ledger/ledger.js'

/** Jest's `globalSetup`: one Postgres server with an empty ledger to copy, and a folder for an empty PGlite, for all test files. */
export default async function setUp() {
  const directory = mkdtempSync(join(tmpdir(), 'billing-stores-'))
  process.env.TEST_STORES_DIR = directory
  const postgres = postgresMissing() === null ? await startPostgres() : null
  if (postgres !== null) {
    process.env.TEST_POSTGRES_URL = postgres.url
    process.env.TEST_POSTGRES_TEMPLATE = 'ledger'
    const ledger = await openLedger({ DATABASE_URL: postgres.createDatabase('ledger') }, console)
    await ledger.onApplicationShutdown()
  }
  globalThis.tearDownStores = async () => {
    await postgres?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

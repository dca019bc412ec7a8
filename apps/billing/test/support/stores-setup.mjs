import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresMissing, startPostgres } from '@upfront/devnet'

/** Jest's `globalSetup`: one Postgres server, and a folder for an empty PGlite, for all test files. */
export default async function setUp() {
  const directory = mkdtempSync(join(tmpdir(), 'billing-stores-'))
  process.env.TEST_STORES_DIR = directory
  const postgres = postgresMissing() === null ? await startPostgres() : null
  if (postgres !== null) process.env.TEST_POSTGRES_URL = postgres.url
  globalThis.tearDownStores = async () => {
    await postgres?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

import { cpSync, existsSync, mkdtempSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/pglite'
import { migrate } from 'drizzle-orm/pglite/migrator'
import { bringUpToDate } from '../../src/ledger/bring-up-to-date.js'

/**
 * Copies an empty ledger, because PGlite needs seconds to make one. The original is made by `npm test`, otherwise by the first test
 * file, in the folder that `stores-setup.mjs` makes and `stores-teardown.mjs` removes.
 */
export async function copyEmptyPglite(): Promise<{ BILLING_DATA_DIR: string }> {
  const root = process.env.TEST_STORES_DIR ?? ''
  const template = process.env.EMPTY_LEDGER ?? join(root, 'pglite')
  if (!existsSync(template)) await createTemplate(root, template)
  const BILLING_DATA_DIR = join(mkdtempSync(join(root, 'ledger-')), 'pglite')
  cpSync(template, BILLING_DATA_DIR, { recursive: true })
  return { BILLING_DATA_DIR }
}

async function createTemplate(root: string, template: string): Promise<void> {
  const directory = mkdtempSync(join(root, 'new-'))
  const client = await PGlite.create(directory)
  await bringUpToDate(
    (statements) => client.exec(statements),
    (migrationsFolder) => migrate(drizzle(client), { migrationsFolder }),
  )
  await client.close()
  // Another test file may have been faster.
  if (!existsSync(template)) renameSync(directory, template)
}

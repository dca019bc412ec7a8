// An empty ledger of billing's, for stands and tests to copy: making one takes PGlite four CPU-seconds, opening a copy one.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './install.mjs'
import { run } from './processes.mjs'

/** @returns its folder, in `.data`: made once for a version of PGlite and of the ledger's tables. Billing has to be built. */
export async function emptyLedger() {
  const data = join(root, '.data')
  const kept = join(data, `empty-ledger-${fingerprint()}`)
  if (existsSync(kept)) return kept
  mkdirSync(data, { recursive: true })
  const folder = mkdtempSync(`${kept}-`)
  // In a process of its own, which takes PGlite's memory with it.
  await run(process.execPath, [fileURLToPath(import.meta.url), join(folder, 'ledger')])
  // Another start may have been faster.
  if (!existsSync(kept)) renameSync(join(folder, 'ledger'), kept)
  rmSync(folder, { recursive: true, force: true })
  return kept
}

function fingerprint() {
  const billing = join(root, 'apps/billing')
  const hash = createHash('sha256').update(
    readFileSync(join(billing, 'node_modules/@electric-sql/pglite/package.json')),
  )
  const migrations = join(billing, 'migrations')
  for (const file of readdirSync(migrations, { recursive: true }).sort())
    if (/\.\w+$/.test(file)) hash.update(readFileSync(join(migrations, file)))
  return hash.digest('hex').slice(0, 16)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { openLedger } = await import('../apps/billing/dist/ledger/ledger.js')
  const ledger = await openLedger({ BILLING_DATA_DIR: process.argv[2] }, { warn() {} })
  await ledger.onApplicationShutdown()
}

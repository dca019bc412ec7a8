// An empty billing ledger for stands and tests to copy: creating one takes PGlite four CPU-seconds, opening a copy takes one.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './install.mjs'
import { run } from './processes.mjs'

/** Created once per version of PGlite and of the ledger's schema. Billing must be built. @returns its folder, in `.data` */
export async function emptyLedger() {
  const data = join(root, '.data')
  const kept = join(data, `empty-ledger-${fingerprint()}`)
  if (existsSync(kept)) return kept
  mkdirSync(data, { recursive: true })
  const folder = mkdtempSync(`${kept}-`)
  // In a separate process, so that PGlite's memory is freed. It ends before V8's optimised code of PGlite would be of use.
  await run(process.execPath, ['--liftoff-only', fileURLToPath(import.meta.url), join(folder, 'ledger')])
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

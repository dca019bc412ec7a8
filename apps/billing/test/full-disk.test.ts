import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Devnet, type Postgres, postgresMissing, startDevnet, startPostgres } from '@upfront/devnet'
import { Client } from 'pg'
import { runBilling } from './support/billing.js'
import { sign } from './support/buyer.js'
import type { RunningBilling } from './support/stand.js'
import { until } from './support/until.js'

const MEGABYTE = 1024 * 1024
const disk = mkdtempSync(join(tmpdir(), 'small-disk-'))

/** Mounting needs root, which not every container has. */
function mountSmallDisk(): string | null {
  const missing = postgresMissing()
  if (missing !== null) return missing
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=160m,mode=1777', 'tmpfs', disk])
  return status === 0 ? null : 'a tmpfs cannot be mounted here'
}

describe('Postgres with a full disk', () => {
  const missing = mountSmallDisk()
  const test = missing === null ? it : it.skip
  let devnet: Devnet
  let postgres: Postgres
  let billing: RunningBilling

  beforeAll(async () => {
    if (missing !== null) return console.warn(`skipped: ${missing}`)
    chmodSync(disk, 0o1777)
    postgres = await startPostgres(disk)
    devnet = await startDevnet()
    billing = await runBilling(devnet.rpcUrl, { DATABASE_URL: postgres.url, recoveryMs: '200' })
  })
  afterAll(async () => {
    await billing?.close()
    await devnet?.stop()
    await postgres?.stop()
    if (missing === null) execFileSync('umount', ['-l', disk])
    rmSync(disk, { recursive: true, force: true })
  })

  test('makes /health and new payments answer 503', async () => {
    const health = () => billing.send('/health')
    expect((await health()).status).toBe(200)
    fillDisk()
    // The current file of the write-ahead log already has its space: fill that too.
    const client = new Client({ connectionString: postgres.url })
    client.on('error', () => undefined)
    await client.connect()
    const write = () =>
      client.query("select pg_logical_emit_message(true, 'full', repeat('x', 1000000))").catch(() => undefined)
    const { body } = await until(health, ({ status }) => status === 503, write)
    expect(body).toMatchObject({ ready: false, status: 'unavailable', ledger: { status: 'unreachable' } })
    const paymentPayload = await sign()
    const request = { paymentPayload, paymentRequirements: paymentPayload.accepted }
    const answer = await billing.send('/internal/payments', { body: request, key: 'on-a-full-disk' })
    expect(answer.status).toBe(503)
  })
})

function fillDisk(): void {
  const block = Buffer.alloc(MEGABYTE)
  try {
    for (let index = 0; index < 1_000; index++) writeFileSync(join(disk, `full-${index}`), block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

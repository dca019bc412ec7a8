import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { OnApplicationShutdown } from '@nestjs/common'
import type { Logger } from '@upfront/service'
import type { ExtractTablesWithRelations } from 'drizzle-orm'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { migrate as migratePg } from 'drizzle-orm/node-postgres/migrator'
import type { PgDatabase, PgQueryResultHKT, PgTransaction } from 'drizzle-orm/pg-core'
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite'
import { migrate as migratePglite } from 'drizzle-orm/pglite/migrator'
import { Client } from 'pg'
import { bringUpToDate } from './bring-up-to-date.js'
import { lockDirectory } from './directory-lock.js'
import { CHANNEL, PaymentChanges } from './payment-changes.js'
import { PostgresPool } from './postgres-pool.js'
import * as schema from './schema.js'

export type Database = PgDatabase<PgQueryResultHKT, typeof schema>
export type Transaction = PgTransaction<PgQueryResultHKT, typeof schema, ExtractTablesWithRelations<typeof schema>>

/**
 * The ledger's database: Postgres or PGlite, with the same tables. Closed last at shutdown.
 *
 * Locks are taken in one order, so that no two processes wait for each other: the advisory lock of a payer and token, the seller's account,
 * the signer, payments by id, a refused payer, signed transactions by hash. They are `no key update` locks, for which rows that refer to the
 * locked one do not wait. Claims of work skip locked rows.
 */
export class Ledger implements OnApplicationShutdown {
  readonly #close: () => Promise<void>

  constructor(
    readonly kind: 'postgres' | 'pglite',
    readonly db: Database,
    readonly changes: PaymentChanges,
    close: () => Promise<void>,
  ) {
    this.#close = close
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#close()
  }
}

/** Any constant works if all billing processes use the same one. */
const MIGRATION_LOCK = 4_020_402

/**
 * The ledger's statements are correct at this level, through row locks, unique keys and conditions on the changed row. A stricter default
 * of the database or role would make them fail with serialization errors, which are not retried.
 */
const READ_COMMITTED = 'set session characteristics as transaction isolation level read committed'
/** Planning takes longer than most statements, so each is planned once per connection, for any parameters. */
const PLAN_ONCE = 'set plan_cache_mode = force_generic_plan'
/** Statements follow each other at once. A process that the server has lost must not keep its locks. */
const END_LOST = "set idle_in_transaction_session_timeout = '10s'"

/** Opens the database and updates its tables. Processes that start concurrently do so one after another. */
export function openLedger(
  { DATABASE_URL, BILLING_DATA_DIR }: { DATABASE_URL?: string; BILLING_DATA_DIR: string },
  logger: Logger,
): Promise<Ledger> {
  return DATABASE_URL === undefined ? openPglite(BILLING_DATA_DIR, logger) : openPostgres(DATABASE_URL, logger)
}

async function openPostgres(url: string, logger: Logger): Promise<Ledger> {
  const pool = new PostgresPool({
    connectionString: url,
    max: 20,
    connectionTimeoutMillis: 10_000,
    application_name: 'billing',
    onConnect: async (client) => {
      // A connection lost between two statements fails the next one. Without a listener, its `error` event would end the process.
      client.on('error', () => undefined)
      await client.query(`${READ_COMMITTED}; ${PLAN_ONCE}; ${END_LOST}`)
    },
  })
  const changes = new PaymentChanges()
  pool.on('error', (error) => logger.warn({ reason: error.message }, 'an idle database connection was lost'))
  // Not of the pool: another process's migration, or its own, may take long.
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, application_name: 'billing' })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await bringUpToDate(
      (statements) => client.query(statements),
      (migrationsFolder) => migratePg(drizzlePg(client), { migrationsFolder }),
    )
    await changes.listen(url, logger)
  } catch (error) {
    await pool.end()
    throw error
  } finally {
    await client.end()
  }
  return new Ledger('postgres', drizzlePg(pool, { schema }), changes, async () => {
    await changes.close()
    await pool.end()
  })
}

async function openPglite(directory: string, logger: Logger): Promise<Ledger> {
  logger.warn(
    { directory },
    'PGlite does not sync to disk and is for tests and trials only: set DATABASE_URL for real money',
  )
  mkdirSync(dirname(directory), { recursive: true })
  const unlock = await lockDirectory(`${directory}.lock`)
  try {
    const client = await PGlite.create(directory)
    await client.exec(READ_COMMITTED)
    const db = drizzlePglite(client, { schema })
    await bringUpToDate(
      (statements) => client.exec(statements),
      (migrationsFolder) => migratePglite(db, { migrationsFolder }),
    )
    const changes = new PaymentChanges()
    await client.listen(CHANNEL, (payload) => changes.onNotification(payload))
    return new Ledger('pglite', db, changes, async () => {
      await client.close()
      unlock()
    })
  } catch (error) {
    unlock()
    throw error
  }
}

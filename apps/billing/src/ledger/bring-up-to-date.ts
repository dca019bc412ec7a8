import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url))
const FUNCTIONS = join(MIGRATIONS, 'functions')

/**
 * Creates or updates the ledger's functions and tables. Functions come first because triggers refer to them, and they always replace
 * existing ones. A function whose parameters or columns change needs a new name: processes of the previous version may still be running.
 *
 * @param execute runs statements in one session
 * @param migrate applies the migrations of a folder
 */
export async function bringUpToDate(
  execute: (statements: string) => Promise<unknown>,
  migrate: (folder: string) => Promise<void>,
): Promise<void> {
  await execute('set check_function_bodies = off')
  for (const file of readdirSync(FUNCTIONS).sort()) await execute(readFileSync(join(FUNCTIONS, file), 'utf8'))
  await execute('reset check_function_bodies')
  await migrate(MIGRATIONS)
}

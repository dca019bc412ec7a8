import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'

let template: Promise<string> | null = null

/** Puts an empty database where none is: making one takes PGlite seconds, copying one does not. */
export async function copyEmptyPglite(directory: string): Promise<void> {
  template ??= createTemplate()
  cpSync(await template, directory, { recursive: true })
}

async function createTemplate(): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'billing-pglite-'))
  process.once('exit', () => rmSync(root, { recursive: true, force: true }))
  const directory = join(root, 'empty')
  const client = await PGlite.create(directory)
  await client.close()
  return directory
}

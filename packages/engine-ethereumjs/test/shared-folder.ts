import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')

/** Recorded chains and exchanges that live beside the repository; undefined where they were not laid there. */
export function sharedFolder(name: string): string | undefined {
  const folder = path.resolve(process.env.UPFRONT_SHARED ?? path.join(repository, '../shared'), name)
  return fs.existsSync(folder) ? folder : undefined
}

import { readFileSync } from 'node:fs'

/** The text of a file that a setting names. @throws Error that says why it can't be read, without its path */
export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`the file can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`)
  }
}

/** The JSON of a file that a setting names. @throws Error that quotes nothing of it */
export function readJsonFile(path: string): unknown {
  const text = readTextFile(path)
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('the file is not JSON')
  }
}

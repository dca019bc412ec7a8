import { readFileSync } from 'node:fs'

/** Reads the text file that a setting names. @throws Error that gives the reason, without the path */
export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`the file can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`)
  }
}

/** Reads the JSON file that a setting names. @throws Error that quotes none of its content */
export function readJsonFile(path: string): unknown {
  const text = readTextFile(path)
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('the file is not JSON')
  }
}

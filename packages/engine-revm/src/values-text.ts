import type { Lacking, StateRead, StateValue } from '@upfront/simulation'
import { readRead } from './border/records.js'
import { TextReader } from './border/text.js'

/** Reads that the engine asks for, and how many of them, counted from the first, are certainly needed. */
export function readReads(text: string): Pick<Lacking<unknown>, 'reads' | 'certain'> {
  const reader = new TextReader(text)
  return { reads: reader.list(() => readRead(reader)), certain: reader.number() }
}

/** The values as text, in the order of the reads. */
export function valuesText(values: readonly StateValue[]): string {
  let text = ''
  for (const value of values) text += `${typeof value === 'bigint' ? value.toString(16) : value}\n`
  return text
}

/** The values that the engine has for these reads. */
export function readValues(reads: readonly StateRead[], text: string): (StateValue | undefined)[] {
  const reader = new TextReader(text)
  return reads.map(({ kind }) =>
    reader.optional(() => (kind === 'balance' || kind === 'nonce' ? reader.bigint() : reader.hex())),
  )
}

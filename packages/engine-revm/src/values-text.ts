import type { StateRead, StateValue } from '@upfront/simulation'
import { readRead } from './border/records.js'
import { TextReader } from './border/text.js'

/** Reads that the engine asks for. */
export function readReads(text: string): StateRead[] {
  const reader = new TextReader(text)
  return reader.list(() => readRead(reader))
}

/** In the order of the reads. */
export function valuesText(values: readonly StateValue[]): string {
  let text = ''
  for (const value of values) text += `${typeof value === 'bigint' ? value.toString(16) : value}\n`
  return text
}

/** What the engine holds of these reads. */
export function readValues(reads: readonly StateRead[], text: string): (StateValue | undefined)[] {
  const reader = new TextReader(text)
  return reads.map(({ kind }) =>
    reader.optional(() => (kind === 'balance' || kind === 'nonce' ? reader.bigint() : reader.hex())),
  )
}

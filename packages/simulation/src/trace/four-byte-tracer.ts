import type { CallRecord } from '../engine/call-record.js'

const CALLS = ['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL']

/** Counts calls by selector and length of arguments, like geth's 4byteTracer. */
export function fourByteTrace({ frames }: CallRecord): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind, input, isPrecompile } of frames) {
    if (!CALLS.includes(kind) || isPrecompile || input.length < 10) continue
    const key = `${input.slice(0, 10)}-${(input.length - 10) / 2}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

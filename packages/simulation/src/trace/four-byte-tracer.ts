import type { CallRecord } from '../engine/call-record.js'

const CALLS = ['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL']

/** How often contracts were called by which selector with how many bytes of arguments, as geth's 4byteTracer counts. */
export function fourByteTrace({ frames }: CallRecord): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind, input, isPrecompile } of frames) {
    if (!CALLS.includes(kind) || isPrecompile || input.length < 10) continue
    const key = `${input.slice(0, 10)}-${(input.length - 10) / 2}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

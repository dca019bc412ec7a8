import type { Writable } from 'node:stream'

/**
 * Ends a connection whose client does not read its answer in time: what is not read is held in memory.
 * @returns what to call once the answer is sent, or its client has gone
 */
export function endUnlessRead(connection: Writable, timeoutMs: number): () => void {
  const timer = setTimeout(() => connection.destroy(), timeoutMs)
  return () => clearTimeout(timer)
}

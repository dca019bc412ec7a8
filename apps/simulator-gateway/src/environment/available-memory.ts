import { totalmem } from 'node:os'

/** Bytes: the cgroup's limit (v1 or v2) if there is one, otherwise the machine's memory. */
export function availableMemory(): number {
  return Math.min(process.constrainedMemory() || totalmem(), totalmem())
}

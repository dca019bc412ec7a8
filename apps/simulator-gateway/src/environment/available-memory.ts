import { totalmem } from 'node:os'

/** The cgroup's limit (v1 or v2) where there is one, else the machine's memory. */
export function availableMemory(): number {
  return Math.min(process.constrainedMemory() || totalmem(), totalmem())
}

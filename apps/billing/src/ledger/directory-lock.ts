import { readFileSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Takes a directory for this process, as PGlite's files bear one process only; answers what gives it back. The lock of a
 * process that is gone (or that had our own id, in a container) is taken over. Throws where another process lives on it.
 */
export function lockDirectory(lockFile: string): () => void {
  const owner = readOwner(lockFile)
  if (owner !== null && owner !== process.pid && isAlive(owner)) {
    throw new Error(`BILLING_DATA_DIR is in use by process ${owner}; two billing processes need DATABASE_URL`)
  }
  rmSync(lockFile, { force: true })
  // `wx`: of two that took over a stale lock at once, one fails.
  writeFileSync(lockFile, String(process.pid), { flag: 'wx' })
  return () => rmSync(lockFile, { force: true })
}

function readOwner(lockFile: string): number | null {
  try {
    const owner = Number(readFileSync(lockFile, 'utf8'))
    return Number.isSafeInteger(owner) && owner > 0 ? owner : null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

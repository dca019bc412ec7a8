import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The lock of a killed process disappears within milliseconds. */
const TRIES = 10
const PAUSE_MS = 100

/**
 * Locks a directory for this process, because PGlite's files support a single process. Returns a function that releases the lock. Uses
 * flock(1): the kernel releases it when the process ends, and it works across containers that share the directory. Without flock(1) the
 * lock is a file with the process id, which other containers can't interpret.
 * @throws Error if another process holds the lock
 */
export async function lockDirectory(lockFile: string): Promise<() => void> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const holder = await startHolder(lockFile)
    if (holder === 'not installed') return lockByProcessId(lockFile)
    if (holder !== 'taken') return () => void holder.kill()
    await sleep(PAUSE_MS)
  }
  throw inUse('another process')
}

/** Starts a process that holds the lock until its input closes, which happens however this process ends. */
async function startHolder(lockFile: string): Promise<ChildProcess | 'taken' | 'not installed'> {
  // Detached from the terminal: Ctrl-C must reach billing only, which still writes while it shuts down.
  const holder = spawn('flock', ['-x', '-n', lockFile, 'cat'], { stdio: ['pipe', 'pipe', 'ignore'], detached: true })
  holder.stdin.on('error', () => undefined)
  holder.stdin.write('locked\n')
  const outcome = await Promise.race([
    once(holder.stdout, 'data').then(() => 'locked' as const),
    once(holder, 'exit').then(() => 'taken' as const),
    once(holder, 'error').then(() => 'not installed' as const),
  ]).catch(() => 'not installed' as const)
  if (outcome !== 'locked') return outcome
  holder.unref()
  for (const stream of [holder.stdin, holder.stdout]) (stream as unknown as { unref(): void }).unref()
  return holder
}

function lockByProcessId(lockFile: string): () => void {
  const owner = readOwner(lockFile)
  if (owner !== null && owner !== process.pid && isAlive(owner)) throw inUse(`process ${owner}`)
  rmSync(lockFile, { force: true })
  // `wx`: if two processes replace a stale lock at once, one of them fails.
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

function inUse(by: string): Error {
  return new Error(`BILLING_DATA_DIR is in use by ${by}: set DATABASE_URL to run several billing processes`)
}

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A running Postgres server of our own. */
export interface Postgres {
  /** URL of its first, empty database. */
  url: string
  /** Creates another empty database and returns its URL. */
  createDatabase(name: string): string
  /** Kills it at once, like a crash; `start` lets it recover. */
  kill(): Promise<void>
  /** Restarts it after `kill`, with the same data and URLs. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Why Postgres can't be started on this machine, or `null`. */
export function postgresMissing(): string | null {
  try {
    execFileSync('pg_config', ['--bindir'], { stdio: 'ignore' })
    return null
  } catch {
    return 'pg_config is not installed'
  }
}

/**
 * Starts Postgres in a temporary directory on a free port, for tests and benchmarks. As root it
 * runs as the user `postgres`, because it refuses to run as root.
 * @param folder parent of its directory
 * @throws Error if it can't start
 */
export async function startPostgres(folder: string = tmpdir()): Promise<Postgres> {
  const binaries = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim()
  const root = mkdtempSync(join(folder, 'devnet-postgres-'))
  const user = process.getuid?.() === 0 ? { uid: userId('-u'), gid: userId('-g') } : null
  if (user !== null) chownSync(root, user.uid, user.gid)
  const data = join(root, 'data')
  const port = String(await freePort())
  const run = { stdio: 'ignore', cwd: root, ...user } as const
  execFileSync(join(binaries, 'initdb'), ['-D', data, '-U', 'billing', '-A', 'trust', '--no-sync', '-E', 'UTF8'], run)
  const options = ['-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${root}`]
  const address = ['-h', '127.0.0.1', '-p', port, '-U', 'billing']
  const url = `postgres://billing@127.0.0.1:${port}/postgres`
  let server: ChildProcess
  const start = () => {
    server = spawn(join(binaries, 'postgres'), ['-D', data, '-p', port, ...options], run)
    return untilReady(server, () => execFileSync(join(binaries, 'pg_isready'), address, run))
  }
  const end = async (signal: NodeJS.Signals) => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const gone = new Promise((resolve) => server.once('exit', resolve))
    server.kill(signal)
    await gone
  }
  const endNow = () => server.kill('SIGQUIT')
  process.once('exit', endNow)
  await start()
  return {
    url,
    createDatabase: (name) => createDatabase(url, name),
    kill: () => end('SIGQUIT'),
    start,
    stop: async () => {
      process.off('exit', endNow)
      await end('SIGINT')
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Creates a database on the server of `url`, empty or a copy of the database `template`. @returns its URL */
export function createDatabase(url: string, name: string, template = 'template1'): string {
  const binaries = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim()
  execFileSync(join(binaries, 'createdb'), ['--maintenance-db', url, '--template', template, name], { stdio: 'ignore' })
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}

function userId(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
}

async function untilReady(server: ChildProcess, check: () => void): Promise<void> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(50)) {
    if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`)
    try {
      check()
      return
    } catch {
      // Not ready yet: pg_isready exited with an error.
    }
  }
  server.kill('SIGKILL')
  throw new Error('postgres does not answer')
}

/** A TCP port of 127.0.0.1 that was just free. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => (typeof address === 'object' && address !== null ? resolve(address.port) : reject(address)))
    })
  })
}

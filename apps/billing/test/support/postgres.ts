import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

export interface Postgres {
  url: string
  stop(): Promise<void>
}

/** Why there is no Postgres to test against, or `null`. */
export function postgresMissing(): string | null {
  try {
    execFileSync('pg_config', ['--bindir'])
    return null
  } catch {
    return 'pg_config is not installed'
  }
}

/** A Postgres of its own in a temporary directory, on a free port. As root it runs as user `postgres`, which it demands. */
export async function startPostgres(): Promise<Postgres> {
  const binaries = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim()
  const root = mkdtempSync(join(tmpdir(), 'billing-postgres-'))
  const user = process.getuid?.() === 0 ? { uid: userId('-u'), gid: userId('-g') } : null
  if (user !== null) chownSync(root, user.uid, user.gid)
  const data = join(root, 'data')
  const port = await freePort()
  const run = { stdio: 'ignore', cwd: root, ...user } as const
  execFileSync(join(binaries, 'initdb'), ['-D', data, '-U', 'billing', '-A', 'trust', '--no-sync', '-E', 'UTF8'], run)
  const options = ['-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${root}`]
  const server = spawn(join(binaries, 'postgres'), ['-D', data, '-p', String(port), ...options], run)
  const url = `postgres://billing@127.0.0.1:${port}/postgres`
  await untilItAnswers(url, server)
  return {
    url,
    stop: async () => {
      const gone = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGINT')
      await gone
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** An empty database of its own on a running Postgres. */
export async function createDatabase(postgres: Postgres, name: string): Promise<string> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return postgres.url.replace(/postgres$/, name)
}

function userId(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
}

async function untilItAnswers(url: string, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`)
    const client = new Client({ connectionString: url })
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await sleep(50)
    }
  }
  throw new Error('postgres does not answer')
}

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

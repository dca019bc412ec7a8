import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'

export interface RpcAnswer {
  result?: unknown
  error?: { code: number; message: string }
}

export interface Geth {
  call(method: string, params: unknown[]): Promise<RpcAnswer>
  stop(): Promise<void>
}

/** Where `go install` or the package manager put it; undefined where it is not. */
export function findGeth(): string | undefined {
  const candidates = [...(process.env.PATH ?? '').split(path.delimiter), path.join(os.homedir(), 'go/bin')]
  return candidates.map((folder) => path.join(folder, 'geth')).find((file) => fs.existsSync(file))
}

/** A geth that stands at the genesis block of `genesis` and has no peers. */
export async function startGeth(binary: string, genesis: string): Promise<Geth> {
  const datadir = fs.mkdtempSync(path.join(os.tmpdir(), 'geth-'))
  const init = spawnSync(binary, ['init', '--datadir', datadir, genesis], { encoding: 'utf8' })
  if (init.status !== 0) throw new Error(`geth init failed: ${init.stderr}`)
  const [http, auth] = [await freePort(), await freePort()]
  const offline = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--verbosity', '1']
  const ports = ['--http', '--http.port', `${http}`, '--http.api', 'eth,debug', '--authrpc.port', `${auth}`]
  const child = spawn(binary, ['--datadir', datadir, '--networkid', '7357', ...offline, ...ports], { stdio: 'ignore' })
  const call = async (method: string, params: unknown[]): Promise<RpcAnswer> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`http://127.0.0.1:${http}`, { method: 'POST', headers, body })).json() as Promise<RpcAnswer>
  }
  await answering(child, () => call('eth_chainId', []))
  return {
    call,
    stop: async () => {
      child.kill()
      await new Promise((resolve) => child.once('exit', resolve))
      fs.rmSync(datadir, { recursive: true, force: true })
    },
  }
}

async function answering(child: ChildProcess, ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`geth ended with ${child.exitCode}`)
    try {
      await ask()
      return
    } catch {
      // It does not listen yet.
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}

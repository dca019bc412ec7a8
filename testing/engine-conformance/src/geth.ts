import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { type BlockHeader, blockHeaderFromRpc } from '@upfront/protocol'
import type { BaseState, RpcAnswer } from './answer.js'
import { developmentState, GENESIS_FILE } from './development-chain.js'

/** The initial chain of a geth. */
export interface GethChain {
  /** In the format of a genesis file. */
  genesis: object
  /** The engine's base state that corresponds to geth at this block. */
  baseStateOn(genesisBlock: BlockHeader): BaseState
}

const DEVELOPMENT_CHAIN: GethChain = {
  genesis: JSON.parse(fs.readFileSync(GENESIS_FILE, 'utf8')),
  baseStateOn: developmentState,
}

/** A geth at the genesis block of a chain. */
export interface Geth {
  call(method: string, params: unknown[]): Promise<RpcAnswer>
  /** Sends several calls in one request. */
  batch(calls: readonly (readonly [method: string, params: readonly unknown[]])[]): Promise<RpcAnswer[]>
  /** The base state for an engine's simulation of the same requests. */
  baseState: BaseState
  stop(): Promise<void>
}

/** Path of geth from `go install` or a package manager; undefined if not found. */
export function findGeth(): string | undefined {
  const candidates = [...(process.env.PATH ?? '').split(path.delimiter), path.join(os.homedir(), 'go/bin')]
  return candidates.map((folder) => path.join(folder, 'geth')).find((file) => fs.existsSync(file))
}

/** Starts a geth without peers, on the development chain by default. */
export async function startGeth(binary: string, chain = DEVELOPMENT_CHAIN): Promise<Geth> {
  const datadir = fs.mkdtempSync(path.join(os.tmpdir(), 'geth-'))
  const genesisFile = path.join(datadir, 'genesis.json')
  fs.writeFileSync(genesisFile, JSON.stringify(chain.genesis))
  const init = spawnSync(binary, ['init', '--datadir', datadir, genesisFile], { encoding: 'utf8' })
  if (init.status !== 0) throw new Error(`geth init failed: ${init.stderr}`)
  const [http, auth] = [await freePort(), await freePort()]
  const offline = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--verbosity', '1']
  // No timeouts, however slow the machine is.
  const patient = ['--rpc.evmtimeout', '0', '--rpc.batch-response-max-size', '1000000000']
  const ports = ['--http', '--http.port', `${http}`, '--http.api', 'eth,debug', '--authrpc.port', `${auth}`]
  const child = spawn(binary, ['--datadir', datadir, '--networkid', '7357', ...offline, ...patient, ...ports], {
    stdio: 'ignore',
  })
  const post = async (body: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`http://127.0.0.1:${http}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  }
  const call = (method: string, params: unknown[]) =>
    post({ jsonrpc: '2.0', id: 1, method, params }) as Promise<RpcAnswer>
  const batch = async (calls: readonly (readonly [string, readonly unknown[]])[]): Promise<RpcAnswer[]> => {
    const requests = calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))
    const answers = ((await post(requests)) as (RpcAnswer & { id: number })[]).sort((a, b) => a.id - b.id)
    // geth allows 30 seconds for all calls of a request; the call in progress may then report the timeout itself.
    const isLate = ({ error }: RpcAnswer) => /timed out|context canceled/.test(error?.message ?? '')
    return Promise.all(answers.map((answer, id) => (isLate(answer) ? post(requests[id]) : answer))) as Promise<
      RpcAnswer[]
    >
  }
  await answering(child, () => call('eth_chainId', []))
  const { result } = await call('eth_getBlockByNumber', ['latest', false])
  return {
    call,
    batch,
    baseState: chain.baseStateOn(blockHeaderFromRpc(result)),
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
      // Not listening yet.
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

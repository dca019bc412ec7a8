import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Account {
  balance: string
  nonce?: string
  code?: string
  storage?: Record<string, string>
}

type Serve = (first?: unknown, second?: unknown) => unknown

const read = (name: string) => JSON.parse(readFileSync(new URL(`./conformance/${name}.json`, import.meta.url), 'utf8'))

export interface GenesisUpstreamOptions {
  chainId?: number
  /** Fields of its one block that differ from `conformance/`. */
  head?: object
  /**
   * Results of further methods, or functions of the params that return them or throw an error; `older` has fields of another block,
   * which is requested by its number.
   */
  answers?: Record<string, unknown>
}

export interface GenesisUpstream {
  url: string
  close(): void
}

/** A read-only node on the chain of `conformance/`, which has only a genesis block. Executes nothing. */
export async function startGenesisUpstream({
  chainId,
  head: changed,
  answers = {},
}: GenesisUpstreamOptions = {}): Promise<GenesisUpstream> {
  const head = { ...read('head'), ...changed }
  const older = answers.older === undefined ? undefined : { ...head, ...(answers.older as object) }
  const blockAt = (block: unknown) =>
    older !== undefined && [older.number, older.hash].includes(block) ? older : has(block) ? head : null
  const { alloc, config } = read('genesis') as { alloc: Record<string, Account>; config: { chainId: number } }
  const account = (address: unknown) => alloc[String(address).toLowerCase().slice(2)]
  const has = (block: unknown) => {
    const { blockHash, blockNumber } = Object(block) as { blockHash?: unknown; blockNumber?: unknown }
    const name = typeof block === 'object' ? (blockHash ?? blockNumber) : block
    return name === undefined || ['latest', 'safe', 'finalized', 'earliest', '0x0', head.hash].includes(name)
  }
  const methods: Record<string, Serve> = {
    eth_chainId: () => `0x${(chainId ?? config.chainId).toString(16)}`,
    eth_getBlockByNumber: blockAt,
    eth_getBlockByHash: blockAt,
    eth_getBalance: (address) => account(address)?.balance ?? '0x0',
    eth_getTransactionCount: (address) => account(address)?.nonce ?? '0x0',
    eth_getCode: (address) => account(address)?.code ?? '0x',
    eth_getStorageAt: (address, slot) => {
      const key = `0x${BigInt(String(slot)).toString(16).padStart(64, '0')}`
      return account(address)?.storage?.[key] ?? `0x${'0'.repeat(64)}`
    },
  }
  for (const [method, result] of Object.entries(answers))
    methods[method] = typeof result === 'function' ? (result as Serve) : () => result
  const answer = ({ id, method, params }: { id: unknown; method: string; params: unknown[] }) => {
    const serve = methods[method]
    if (serve === undefined) return { jsonrpc: '2.0', id, error: { code: -32601, message: `no method ${method}` } }
    try {
      return { jsonrpc: '2.0', id, result: serve(...params) }
    } catch (error) {
      return { jsonrpc: '2.0', id, error: { code: -32000, message: (error as Error).message } }
    }
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const body = JSON.parse(text)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Hex, numberToHex } from 'viem'
import { type WebSocket, WebSocketServer } from 'ws'
import type { RecordedBlock } from './recorded-block.js'

/** A node for a recorded block, its parent and its grandparent. Serves state of the parent only. */
export interface RecordedNode {
  url: string
  webSocketUrl: string
  /** Number of HTTP requests so far. */
  requests(): number
  /** Number of subscribers to new heads. */
  subscribers(): number
  /** Makes the next block the head and announces it. The first head is the grandparent. */
  advance(): void
  stop(): Promise<void>
}

interface Call {
  id: unknown
  method: string
  params?: unknown[]
}

type Block = Record<string, unknown>

const NO_METHOD = -32601

/**
 * @param latencyMs of each HTTP request; announcements are immediate
 * @param hints further answers, by method
 */
export async function startRecordedNode(
  recorded: RecordedBlock,
  latencyMs: number,
  hints: Readonly<Record<string, (params: unknown[]) => unknown>> = {},
): Promise<RecordedNode> {
  const { chainId, parent, block, state, blockHashes } = recorded
  const number = BigInt(parent.number as Hex)
  const pace = BigInt(block.timestamp as Hex) - BigInt(parent.timestamp as Hex)
  const before: Block = {
    ...parent,
    hash: parent.parentHash,
    parentHash: numberToHex(1, { size: 32 }),
    number: numberToHex(number - 1n),
    timestamp: numberToHex(BigInt(parent.timestamp as Hex) - pace),
    transactions: [],
  }
  const heads: Block[] = [before, parent, block]
  let head = 0
  let requests = 0
  const subscribers = new Set<WebSocket>()

  const find = (name: unknown): Block | undefined => {
    const known = heads.slice(0, head + 1)
    if (name === 'latest' || name === undefined) return heads[head]
    const wanted = typeof name === 'object' ? (name as { blockHash?: string }).blockHash : String(name)
    return known.find((each) => each.hash === wanted || each.number === wanted)
  }
  const blockOf = (name: unknown, isFull: unknown): Block | null => {
    const found = find(name)
    const hash = typeof name === 'string' && /^0x.{1,16}$/.test(name) ? blockHashes[String(BigInt(name))] : undefined
    if (found === undefined) return hash === undefined ? null : { ...parent, number: name, hash, transactions: [] }
    const transactions = found.transactions as { hash: Hex }[]
    return isFull === true ? found : { ...found, transactions: transactions.map((transaction) => transaction.hash) }
  }
  const transactionOf = (hash: unknown): Block | null => {
    const known = heads.slice(0, head + 1).flatMap(({ transactions, ...of }) =>
      (transactions as Block[]).map((transaction, index) => ({
        ...{ blockHash: of.hash, blockNumber: of.number, transactionIndex: numberToHex(index) },
        ...transaction,
      })),
    )
    return known.find((each) => (each as Block).hash === hash) ?? null
  }
  const result = ({ method, params: [first, second, third] = [] }: Call): unknown => {
    const at = method === 'eth_getStorageAt' ? third : second
    if (method in READS && find(at) !== parent) throw new Error('missing trie node (state not available)')
    switch (method) {
      case 'eth_chainId':
        return numberToHex(chainId)
      case 'eth_blockNumber':
        return heads[head]!.number
      case 'eth_getBlockByNumber':
      case 'eth_getBlockByHash':
        return blockOf(first, second)
      case 'eth_getTransactionByHash':
        return transactionOf(first)
      case 'eth_getStorageAt':
        return state.storage(String(first), String(second))
      case 'eth_getBalance':
      case 'eth_getTransactionCount':
      case 'eth_getCode':
        return state[READS[method]](String(first))
      default:
        return hints[method]?.([first, second, third])
    }
  }
  const answer = (call: Call) => {
    const envelope = { jsonrpc: '2.0', id: call.id }
    try {
      const value = result(call)
      if (value !== undefined) return { ...envelope, result: value }
      const message = `the method ${call.method} does not exist/is not available`
      return { ...envelope, error: { code: NO_METHOD, message } }
    } catch (error) {
      return { ...envelope, error: { code: -32000, message: (error as Error).message } }
    }
  }

  const server = createServer(async (request, response) => {
    requests += 1
    const calls = JSON.parse(await textOf(request)) as Call | Call[]
    const text = JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls))
    await sleep(latencyMs)
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  })
  new WebSocketServer({ server }).on('connection', (socket) => {
    socket.on('message', (message) => {
      const call = JSON.parse(String(message)) as Call
      const subscribes = call.method === 'eth_subscribe' && call.params?.[0] === 'newHeads'
      if (subscribes) subscribers.add(socket)
      socket.send(JSON.stringify(subscribes ? { jsonrpc: '2.0', id: call.id, result: '0x1' } : answer(call)))
    })
    socket.on('close', () => subscribers.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    webSocketUrl: `ws://127.0.0.1:${port}`,
    requests: () => requests,
    subscribers: () => subscribers.size,
    advance: () => {
      head += 1
      const params = { subscription: '0x1', result: blockOf(heads[head]!.hash, false) }
      for (const socket of subscribers)
        socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }))
    },
    stop: async () => {
      for (const socket of subscribers) socket.terminate()
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const READS = {
  eth_getBalance: 'balance',
  eth_getTransactionCount: 'nonce',
  eth_getCode: 'code',
  eth_getStorageAt: 'storage',
} as const

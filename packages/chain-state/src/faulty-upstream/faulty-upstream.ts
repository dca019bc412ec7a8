import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { request as httpRequest } from 'undici'
import type { Fault } from './fault.js'

interface RpcCall {
  id: unknown
  method: string
  params?: unknown[]
}
type RpcAnswer = Record<string, unknown>

/** A proxy in front of a node that misbehaves as told. For tests. */
export interface FaultyUpstream {
  readonly url: string
  /** Host and port, as errors name it. */
  readonly host: string
  /** What it does now; `undefined` is nothing but pass on. */
  fault: Fault | undefined
  /** Of how many requests one is spoilt: 1 is every one, 5 every fifth. */
  oneIn: number
  slowMs: number
  /** Added to every answer, milliseconds. */
  latencyMs: number
  /** Methods that it says it does not have. */
  readonly lacks: Set<string>
  /** Methods that it answers with an internal error. */
  readonly failing: Set<string>
  /** Since the last `reset`. */
  readonly stats: { requests: number; calls: number; byMethod: Record<string, number>; bytesOut: number }
  reset(): void
  close(): Promise<void>
}

const BLOCK_METHODS = new Set(['eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getHeaderByNumber'])
const SPACES = Buffer.alloc(1024 * 1024, ' ')
const SPACES_MEGABYTES = 200

/** Starts a proxy on a free port of 127.0.0.1 that passes JSON-RPC on to `target`. */
export async function startFaultyUpstream(target: string): Promise<FaultyUpstream> {
  const emptyStats = () => ({ requests: 0, calls: 0, byMethod: {} as Record<string, number>, bytesOut: 0 })
  const state = {
    fault: undefined as Fault | undefined,
    oneIn: 1,
    slowMs: 1_000,
    latencyMs: 0,
    lacks: new Set<string>(),
    failing: new Set<string>(),
    stats: emptyStats(),
  }
  let sequence = 0

  const server = createServer((request, response) => {
    response.on('error', () => response.destroy())
    serve(request, response).catch(() => response.destroy())
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = JSON.parse(await readAll(request))
    const calls = (Array.isArray(body) ? body : [body]) as RpcCall[]
    state.stats.requests += 1
    state.stats.calls += calls.length
    for (const { method } of calls) state.stats.byMethod[method] = (state.stats.byMethod[method] ?? 0) + 1
    sequence += 1
    const fault = state.fault !== undefined && sequence % state.oneIn === 0 ? state.fault : undefined
    if (state.latencyMs > 0) await sleep(state.latencyMs)
    if (await spoilConnection(fault, response)) return
    const answers = await passOn(target, fault === 'head-goes-back' && sequence % 2 === 0 ? await behind(calls) : calls)
    for (const [index, { id, method }] of calls.entries())
      if (state.failing.has(method)) answers[index] = failure(id, -32000, 'internal failure')
      else if (state.lacks.has(method)) answers[index] = failure(id, -32601, `the method ${method} does not exist`)
    const text = spoilAnswers(fault, calls, answers, Array.isArray(body), request.url)
    state.stats.bytesOut += text.length
    response.statusCode = fault === 'forbidden-batches' && Array.isArray(body) ? 400 : 200
    response.setHeader('content-type', 'application/json')
    response.end(text)
  }

  /** True where the fault leaves nothing to answer. */
  async function spoilConnection(fault: Fault | undefined, response: ServerResponse): Promise<boolean> {
    switch (fault) {
      case 'slow':
        await sleep(state.slowMs)
        return false
      case 'silent':
        return true
      case 'reset':
        response.socket?.resetAndDestroy()
        return true
      case 'http-429':
        if (sequence % 2 === 0) response.setHeader('retry-after', '1')
        response.writeHead(429).end('slow down')
        return true
      case 'http-500':
        response.writeHead(500).end('oops')
        return true
      case 'html':
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Bad gateway</body></html>')
        return true
      case 'empty':
        response.writeHead(200).end()
        return true
      case 'spaces':
        await sendSpaces(response)
        return true
      default:
        return false
    }
  }

  async function sendSpaces(response: ServerResponse): Promise<void> {
    response.writeHead(200, { 'content-type': 'application/json' })
    for (let sent = 0; sent < SPACES_MEGABYTES && !response.destroyed; sent += 1) {
      state.stats.bytesOut += SPACES.length
      if (!response.write(SPACES))
        await new Promise((resolve) => {
          response.once('drain', resolve)
          response.once('close', resolve)
        })
    }
    response.end()
  }

  async function behind(calls: RpcCall[]): Promise<RpcCall[]> {
    const [head] = await passOn(target, [{ id: 1, method: 'eth_blockNumber' }])
    const number = `0x${(BigInt(head?.result as string) - 1n).toString(16)}`
    return calls.map((call) => ({ ...call, params: call.params?.map((p) => (p === 'latest' ? number : p)) ?? [] }))
  }

  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(state, {
    url: `http://${host}`,
    host,
    reset() {
      state.stats = emptyStats()
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

async function passOn(target: string, calls: RpcCall[]): Promise<RpcAnswer[]> {
  const { body } = await httpRequest(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map((call) => ({ jsonrpc: '2.0', ...call }))),
  })
  return (await body.json()) as RpcAnswer[]
}

function spoilAnswers(
  fault: Fault | undefined,
  calls: RpcCall[],
  answers: RpcAnswer[],
  isBatch: boolean,
  url: string | undefined,
): string {
  const send = (all: RpcAnswer[]) => JSON.stringify(isBatch ? all : all[0])
  switch (fault) {
    case 'truncated': {
      const text = send(answers)
      return text.slice(0, Math.floor(text.length / 2))
    }
    case 'empty-json':
      return isBatch ? '[]' : '{}'
    case 'neither':
      return send(answers.map(({ result, error, ...rest }) => rest))
    case 'both':
      return send(answers.map((answer) => ({ ...answer, error: { code: -32000, message: 'both' } })))
    case 'rpc-error':
      return send(answers.map(({ id }) => failure(id, -32000, 'internal failure')))
    case 'tells-url':
      return send(answers.map(({ id }) => failure(id, -32000, `no access to ${url}`)))
    case 'null-results':
      return send(answers.map((answer) => ({ ...answer, result: null })))
    case 'null-blocks':
      return send(
        answers.map((answer) => {
          const call = calls.find(({ id }) => id === answer.id)
          return call !== undefined && BLOCK_METHODS.has(call.method) ? { ...answer, result: null } : answer
        }),
      )
    case 'wrong-id':
      return send(answers.map((answer, index) => ({ ...answer, id: 1_000_000_000 + index })))
    case 'reordered':
      return send([...answers].reverse())
    case 'cut-batches':
      return send(answers.slice(0, Math.max(1, Math.floor(answers.length / 3))))
    case 'refused-batches':
    case 'forbidden-batches':
      return isBatch ? JSON.stringify(failure(null, -32600, 'batches are not supported')) : send(answers)
    case 'no-eip-1898':
      return send(
        answers.map((answer) => {
          const call = calls.find(({ id }) => id === answer.id)
          const byObject = call?.params?.some((p) => typeof p === 'object' && p !== null && 'blockHash' in p)
          return byObject ? failure(answer.id, -32602, 'invalid argument 1: cannot unmarshal object') : answer
        }),
      )
    default:
      return send(answers)
  }
}

function failure(id: unknown, code: number, message: string): RpcAnswer {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

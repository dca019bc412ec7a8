import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { rpc } from '../rpc.js'
import type { NodeFault } from './fault.js'
import { asIndexed, failure, type RpcAnswer, type RpcCall, spoilAnswers, stateMissing } from './spoil-answers.js'

/** A proxy for a node that injects faults and counts requests. All settings may be changed at any time. */
export interface FaultProxy {
  readonly url: string
  /** Host and port, as in error messages. */
  readonly host: string
  /** The node's URL. */
  target: string
  /** The injected fault; `undefined` forwards requests unchanged. */
  fault: NodeFault | undefined
  /** `fault` affects one request in this many: 1 is every request, 5 every fifth. */
  oneIn: number
  /** Chooses a fault per call, before `fault` applies. A request gets the first fault of its calls. */
  faultOf: ((method: string) => NodeFault | undefined) | undefined
  /** Delay of the fault `slow`. */
  slowMs: number
  /** Latency added to every response, milliseconds. */
  latencyMs: number
  /** The block returned for `latest` and `pending`; `undefined`: the node's own. */
  cap: bigint | undefined
  /** Simulates a lagging index: the node has state and blocks, but receipts and logs only up to this block. `undefined`: no limit. */
  indexedUpTo: bigint | undefined
  /** Methods reported as not supported. */
  readonly lacks: Set<string>
  /** Methods answered with an internal error. */
  readonly failing: Set<string>
  /** Calls answered with "missing state". */
  lacksState: ((call: RpcCall) => boolean) | undefined
  /** Returns a false result for a call, or `undefined` to forward it. */
  lies: ((call: RpcCall) => unknown) | undefined
  /** Raw transactions forwarded, in order. */
  readonly sent: string[]
  /** Counted since the last `reset`. */
  readonly stats: FaultProxyStats
  reset(): void
  stop(): Promise<void>
}

export interface FaultProxyStats {
  /** HTTP requests. */
  requests: number
  calls: number
  byMethod: Record<string, number>
  /** Methods of each HTTP request, in order of arrival. */
  methods: string[][]
  bytesOut: number
}

const SPACES = Buffer.alloc(1024 * 1024, ' ')
const SPACES_MEGABYTES = 200

/** Starts a proxy on a free port of 127.0.0.1 that forwards JSON-RPC to `target`. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  let sequence = 0
  const server = createServer((request, response) => {
    response.on('error', () => response.destroy())
    // The node is down, or the client was killed.
    serve(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const proxy: { -readonly [Key in keyof FaultProxy]: FaultProxy[Key] } = {
    url: `http://${host}`,
    host,
    target,
    fault: undefined,
    oneIn: 1,
    faultOf: undefined,
    slowMs: 1_000,
    latencyMs: 0,
    cap: undefined,
    indexedUpTo: undefined,
    lacks: new Set(),
    failing: new Set(),
    lacksState: undefined,
    lies: undefined,
    sent: [],
    stats: emptyStats(),
    reset() {
      proxy.stats = emptyStats()
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(request)
    const body = JSON.parse(text) as RpcCall | RpcCall[]
    const calls = Array.isArray(body) ? body : [body]
    count(calls)
    sequence += 1
    const turn = sequence
    const fault = faultFor(calls)
    if (await spoilConnection(fault, response, turn)) return
    for (const { method, params } of calls)
      if (method === 'eth_sendRawTransaction') proxy.sent.push(String(params?.[0]))
    const head = fault === 'head-goes-back' && turn % 2 === 0 ? (await headNumber(proxy.target)) - 1n : proxy.cap
    const asked = head === undefined ? text : JSON.stringify([body].flat().map((call) => upTo(head, call)))
    const answer = await post(proxy.target, asked)
    if (fault === 'reset-after') return void response.socket?.resetAndDestroy()
    const isPlain =
      fault === undefined &&
      head === undefined &&
      proxy.indexedUpTo === undefined &&
      proxy.lies === undefined &&
      proxy.lacksState === undefined &&
      proxy.lacks.size === 0 &&
      proxy.failing.size === 0
    const told = isPlain
      ? answer.text
      : spoilAnswers(fault, calls, answersTo(calls, answer.text, head), Array.isArray(body), request.url)
    if (proxy.latencyMs > 0) await sleep(proxy.latencyMs)
    proxy.stats.bytesOut += told.length
    response.statusCode = fault === 'forbidden-batches' && Array.isArray(body) ? 400 : answer.status
    response.setHeader('content-type', 'application/json')
    response.end(told)
  }

  function count(calls: readonly RpcCall[]): void {
    const { stats } = proxy
    stats.requests += 1
    stats.calls += calls.length
    stats.methods.push(calls.map(({ method }) => method))
    for (const { method } of calls) stats.byMethod[method] = (stats.byMethod[method] ?? 0) + 1
  }

  function faultFor(calls: readonly RpcCall[]): NodeFault | undefined {
    for (const { method } of calls) {
      const fault = proxy.faultOf?.(method)
      if (fault !== undefined) return fault
    }
    return sequence % proxy.oneIn === 0 ? proxy.fault : undefined
  }

  /** @returns true if the fault leaves nothing to answer */
  async function spoilConnection(
    fault: NodeFault | undefined,
    response: ServerResponse,
    turn: number,
  ): Promise<boolean> {
    switch (fault) {
      case 'slow':
        await sleep(proxy.slowMs)
        return false
      case 'silent':
        return true
      case 'reset':
        response.socket?.resetAndDestroy()
        return true
      case 'http-429':
        if (turn % 2 === 0) response.setHeader('retry-after', '1')
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
      proxy.stats.bytesOut += SPACES.length
      if (!response.write(SPACES))
        await new Promise((resolve) => {
          response.once('drain', resolve)
          response.once('close', resolve)
        })
    }
    response.end()
  }

  /** The node's answers, except for what it should lack. */
  function answersTo(calls: RpcCall[], text: string, head: bigint | undefined): RpcAnswer[] {
    const answers = [JSON.parse(text) as RpcAnswer | RpcAnswer[]].flat()
    for (const [index, call] of calls.entries()) {
      const { id, method } = call
      const lie = proxy.lies?.(call)
      if (lie !== undefined) answers[index] = { jsonrpc: '2.0', id, result: lie }
      else if (proxy.lacksState?.(call)) answers[index] = stateMissing(id)
      else if (proxy.failing.has(method)) answers[index] = failure(id, -32000, 'internal failure')
      else if (proxy.lacks.has(method)) answers[index] = failure(id, -32601, `the method ${method} does not exist`)
      else if (head !== undefined && method === 'eth_blockNumber')
        answers[index] = { jsonrpc: '2.0', id, result: `0x${head.toString(16)}` }
      else if (proxy.indexedUpTo !== undefined)
        answers[index] = asIndexed(proxy.indexedUpTo, method, answers[index] ?? { id })
    }
    return answers
  }
}

const emptyStats = (): FaultProxyStats => ({ requests: 0, calls: 0, byMethod: {}, methods: [], bytesOut: 0 })

/** The same call on a chain that ends with this block. */
function upTo(head: bigint, call: RpcCall): RpcCall {
  const number = `0x${head.toString(16)}`
  const params = (call.params ?? []).map((param) => (param === 'latest' || param === 'pending' ? number : param))
  return { ...call, params }
}

async function headNumber(target: string): Promise<bigint> {
  return BigInt(await rpc<string>(target, 'eth_blockNumber', []))
}

async function post(target: string, body: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return { status: answer.status, text: await answer.text() }
}

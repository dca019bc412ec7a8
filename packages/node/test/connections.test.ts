import { once } from 'node:events'
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Canceller } from '../src/cancellation.js'
import { decodeQuantity } from '../src/decode-result.js'
import { Endpoint } from '../src/endpoint.js'
import { UpstreamClient } from '../src/upstream-client.js'

const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x1"}'
const LIMITS = { maxBytes: 10_000, timeoutMs: 2_000 }

/** A server that answers requests as instructed, distinguished by their bodies. */
interface Node {
  url: URL
  bodies: string[]
  connections: number
  close(): Promise<void>
}

let node: Node
let endpoint: Endpoint

afterEach(async () => {
  await endpoint.close()
  await node.close()
})

async function startNode(answer: (socket: Socket, request: { connection: number; body: string }) => void) {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    node.connections += 1
    const connection = node.connections
    sockets.add(socket.on('error', () => undefined))
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes.toString()
      const start = text.indexOf('\r\n\r\n') + 4
      const body = text.slice(start)
      if (start < 4 || body.length < Number(/content-length: (\d+)/.exec(text)?.[1])) return
      text = ''
      node.bodies.push(body)
      answer(socket, { connection, body })
    })
  })
  await listening(server)
  node = {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    bodies: [],
    connections: 0,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function listening(server: Server | HttpServer) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}

function open(connections = 4) {
  endpoint = new Endpoint(node.url, { connections, maxBatch: 100 })
}

async function until(isSo: () => boolean) {
  while (!isSo()) await sleep(2)
}

const post = (body: string, limits: Partial<Parameters<Endpoint['post']>[1]> = {}) =>
  endpoint.post(body, { ...LIMITS, ...limits })

const answerTo = (body: string) => ANSWER.replace('"id":1', `"id":${JSON.parse(body).id}`)
const plain = (body = ANSWER) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`

describe('connections to a node', () => {
  it('reuses a connection, and carries any text', async () => {
    const server = createHttpServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      ports.add(request.socket.remotePort)
      response.setHeader('content-type', request.headers['content-type'] ?? '')
      response.setHeader('content-length', Buffer.concat(chunks).length)
      response.end(Buffer.concat(chunks))
    })
    const ports = new Set<number | undefined>()
    await listening(server)
    const url = new URL(`http://localhost:${(server.address() as AddressInfo).port}/a%20path?key=${'k'.repeat(20)}`)
    const close = async () => {
      server.close()
      await once(server, 'close')
    }
    node = { url, bodies: [], connections: 0, close }
    open(1)
    for (const body of ['{"a":1}', '"ünïcødé ✓ 🙂"', `"${'x'.repeat(9_000)}"`]) expect(await post(body)).toBe(body)
    expect(ports.size).toBe(1)
  })

  it('opens at most the allowed number and queues further requests', async () => {
    let now = 0
    let most = 0
    await startNode(async (socket, { body }) => {
      now += 1
      most = Math.max(most, now)
      await sleep(20)
      now -= 1
      socket.write(plain(`"${body}"`))
    })
    open(2)
    const bodies = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    expect(await Promise.all(bodies.map((body) => post(body)))).toEqual(bodies.map((body) => `"${body}"`))
    expect([most, node.connections]).toEqual([2, 2])
  })

  it('retries a request once on a new connection if the node closed the idle one', async () => {
    await startNode((socket, { connection, body }) => {
      if (connection === 1 && node.bodies.length === 2) socket.destroy()
      else socket.write(plain(answerTo(body)))
    })
    open()
    const client = new UpstreamClient({ urls: [node.url.href], connections: 1 })
    const call = { method: 'eth_blockNumber', params: [], decode: decodeQuantity, maxBytes: 100 }
    for (let time = 0; time < 3; time += 1) expect(await client.call(call)).toBe(1n)
    expect([node.bodies.length, node.connections]).toEqual([4, 2])
    await client.close()
  })

  it('fails with a connection fault if the node closes on the first request', async () => {
    await startNode((socket) => socket.destroy())
    open()
    await expect(post('a')).rejects.toMatchObject({ kind: 'connection' })
    expect(node.bodies).toEqual(['a'])
  })

  it('does not reuse a connection on which an unrequested response arrived', async () => {
    await startNode((socket, { connection, body }) => {
      socket.write(plain(`"${body} ${connection}"`))
      if (connection === 1) setTimeout(() => socket.write(plain('"stray"')), 20)
    })
    open(1)
    expect(await post('a')).toBe('"a 1"')
    await sleep(60)
    expect(await post('b')).toBe('"b 2"')
  })

  it('closes the connection of an aborted request, drops an aborted one in the queue, and serves the others', async () => {
    await startNode((socket, { body }) => {
      if (body !== 'silent') setTimeout(() => socket.write(plain(`"${body}"`)), 50)
      else socket.once('close', () => silentClosed())
    })
    let silentClosed: () => void = () => undefined
    const closed = new Promise<void>((resolve) => {
      silentClosed = resolve
    })
    open(2)
    const canceller = new Canceller()
    const silent = post('silent', { signal: canceller.signal })
    const others = Promise.all([post('a'), post('b'), post('c')])
    const waiting = post('waiting', { signal: canceller.signal })
    setTimeout(() => canceller.cancel(new Error('enough')), 20)
    await expect(silent).rejects.toThrow('enough')
    await expect(waiting).rejects.toThrow('enough')
    expect(await others).toEqual(['"a"', '"b"', '"c"'])
    await closed
    expect(node.bodies).not.toContain('waiting')
  })

  it('fails running and queued requests with a connection fault when it is closed', async () => {
    await startNode(() => undefined)
    open(1)
    const posts = Promise.allSettled([post('a'), post('b')])
    await until(() => node.bodies.length === 1)
    await endpoint.close()
    const fault = { status: 'rejected', reason: { kind: 'connection' } }
    expect(await posts).toMatchObject([fault, fault])
  })

  it('fails on a malformed chunked response, and does not reuse the connection', async () => {
    await startNode((socket, { connection }) => {
      const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
      socket.write(connection === 1 ? `${chunked}2\r\nabc\r\n0\r\n\r\n` : `${chunked}3\r\n"a"\r\n0\r\n\r\n`)
    })
    open()
    await expect(post('a')).rejects.toMatchObject({ kind: 'connection' })
    expect(await post('a')).toBe('"a"')
  })

  it('closes the connection of an answer beyond the size limit', async () => {
    await startNode((socket, { body }) => socket.write(plain(body === 'long' ? 'x'.repeat(100) : '"a"')))
    open(1)
    await expect(post('long', { maxBytes: 99 })).rejects.toMatchObject({ kind: 'too-large' })
    expect(await post('a', { maxBytes: 99 })).toBe('"a"')
    expect(node.connections).toBe(2)
  })

  it('reports the HTTP status and Retry-After', async () => {
    await startNode((socket) => socket.write(`HTTP/1.1 429 Slow\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n`))
    open(1)
    const fault = { kind: 'http-status', detail: { status: 429, retryAfter: 2_000 } }
    for (let times = 0; times < 2; times += 1) await expect(post('a')).rejects.toMatchObject(fault)
    expect(node.connections).toBe(1)
  })
})

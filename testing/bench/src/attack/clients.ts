import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request, WebSocket } from 'undici'
import { bodyOf, type Call, range } from './requests.js'

/** Entrances of the gateway that do the same work. */
export type Entrance = 'http' | 'ws' | 'mcp'

/** Below the default rate limit of one client. */
export const CALLS_PER_SECOND = 48
const CONNECTIONS = 64

export const UPGRADE = [
  'GET / HTTP/1.1',
  'host: x',
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  '\r\n',
].join('\r\n')

/** Sends a request over one connection; resolves once it is answered, rejected or disconnected. */
type Ask = (call: Call) => Promise<void>

/** A loopback client with an address of its own. */
export function agentOf(client: number): Agent {
  return new Agent({
    localAddress: addressOf(client),
    connections: CONNECTIONS,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  })
}

function addressOf(client: number): string {
  return `127.0.1.${client}`
}

function connectionsOf(client: number, url: string, entrance: Entrance): () => Ask {
  const agent = agentOf(client)
  if (entrance === 'ws') return () => overWebSocket(url, agent)
  return () => (call) => post(entrance === 'mcp' ? `${url}/mcp` : url, bodyOf(call), agent)
}

async function post(url: string, body: string, dispatcher: Agent): Promise<void> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  try {
    const response = await request(url, { method: 'POST', headers, body, dispatcher })
    for await (const _ of response.body);
  } catch {
    // Rejected or disconnected.
  }
}

/** Reconnects if disconnected. */
function overWebSocket(url: string, dispatcher: Agent): Ask {
  let socket: WebSocket | undefined
  return async (call) => {
    if (socket === undefined || socket.readyState > WebSocket.OPEN) {
      socket = new WebSocket(url.replace('http', 'ws'), { dispatcher })
      const opened = socket
      await new Promise<void>((resolve) => {
        for (const event of ['open', 'close', 'error'] as const)
          opened.addEventListener(event, () => resolve(), { once: true })
      })
    }
    const open = socket
    if (open.readyState !== WebSocket.OPEN) return sleep(100)
    open.send(bodyOf(call))
    await new Promise<void>((resolve) => {
      for (const event of ['message', 'close'] as const) open.addEventListener(event, () => resolve(), { once: true })
    })
  }
}

/** Each client sends its calls without waiting for responses. */
export async function atPace(clients: number, url: string, call: Call, entrance: Entrance): Promise<void> {
  const connections = range(clients).map((client) => {
    const connect = connectionsOf(client, url, entrance)
    return range(CONNECTIONS).map(() => connect())
  })
  for (let turn = 0; ; turn++) {
    for (const asks of connections) void asks[turn % CONNECTIONS]!(call)
    await sleep(1_000 / CALLS_PER_SECOND)
  }
}

/** Each client uses this many connections, and repeats its request on each once answered. */
export async function again(
  { clients, connections }: { clients: number; connections: number },
  url: string,
  call: Call,
  entrance: Entrance,
): Promise<void> {
  const asks = range(clients).flatMap((client) => {
    const connect = connectionsOf(client, url, entrance)
    return range(connections).map(() => connect())
  })
  await Promise.all(
    asks.map(async (ask) => {
      for (;;) await ask(call)
    }),
  )
}

/** Keeps opening connections that send requests and never read. */
export async function unread(url: string, path: string, call: Call): Promise<void> {
  const body = bodyOf(call)
  for (;;) {
    for (const client of range(20))
      dial(url, client)
        .pause()
        .write(head(path, body.length) + body)
    await sleep(100)
  }
}

/** Sends bodies byte by byte, as fast as they are read. */
export async function tinyChunks(url: string, path: string): Promise<void> {
  const start = `${firstLines(path)}transfer-encoding: chunked\r\n\r\n`
  const chunks = '1\r\nx\r\n'.repeat(10_000)
  for (;;) {
    const socket = dial(url, 1).resume()
    const isOver = new Promise<void>((resolve) => socket.once('close', resolve))
    socket.write(start)
    for (let sent = 0; sent < 1_300 && !socket.destroyed; sent++) {
      if (!socket.write(chunks)) await Promise.race([once(socket, 'drain').catch(() => undefined), isOver])
    }
    await Promise.race([sleep(100), isOver])
    socket.destroy()
  }
}

/** Keeps sending over the same connections, whatever is answered. */
export async function unreadMessages(url: string, call: Call): Promise<void> {
  const text = bodyOf(call)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(text.length)
  const message = Buffer.concat([Buffer.from([0x81, 0xfe]), length, Buffer.alloc(4), Buffer.from(text)])
  const sockets = range(4).map(() => dial(url, 1).pause())
  for (const socket of sockets) socket.write(UPGRADE)
  for (;;) {
    for (const socket of sockets) {
      await sleep(1_000 / CALLS_PER_SECOND)
      socket.write(message)
    }
  }
}

/** Ten clients with `connections` in total and `each` subscriptions per connection, which read all notifications. */
export async function subscribe(
  url: string,
  { connections, each }: { connections: number; each: number },
  params: unknown[],
): Promise<void> {
  for (const index of range(connections)) {
    const socket = new WebSocket(url.replace('http', 'ws'), { dispatcher: agentOf(1 + (index % 10)) })
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    for (const _ of range(each)) socket.send(bodyOf({ method: 'eth_subscribe', params }))
  }
}

/** Connections that send an incomplete message. Ten clients, because each may have a thousand connections. */
export async function waiting(url: string, count: number, beginning: string, atATime: number): Promise<void> {
  const bytes = Buffer.from(beginning, 'latin1')
  for (const index of range(count)) {
    dial(url, 1 + (index % 10))
      .resume()
      .write(bytes)
    if (index % atATime === 0) await sleep(10)
  }
}

/** Connections of ten clients that send an incomplete message in parts, and reconnect when closed. */
export async function slowly(url: string, count: number, beginning: string): Promise<void> {
  const bytes = Buffer.from(beginning, 'latin1')
  const sending = range(count).map((index) => ({ socket: dial(url, 1 + (index % 10)).resume(), at: 0 }))
  for (;;) {
    for (const [index, each] of sending.entries()) {
      if (each.socket.destroyed) Object.assign(each, { socket: dial(url, 1 + (index % 10)).resume(), at: 0 })
      each.socket.write(bytes.subarray(each.at, each.at + 20_000))
      each.at += 20_000
      if (index % 50 === 0) await sleep(10)
    }
  }
}

function dial(url: string, client: number): Socket {
  const { hostname, port } = new URL(url)
  return connect({ port: Number(port), host: hostname, localAddress: addressOf(client) }).on('error', () => undefined)
}

export function head(path: string, length: number): string {
  return `${firstLines(path)}content-length: ${length}\r\n\r\n`
}

function firstLines(path: string): string {
  const accept = 'accept: application/json, text/event-stream'
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${accept}\r\n`
}

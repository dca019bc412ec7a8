import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { attachFront, type Front } from './attach-front.js'
import type { FastRequest, FrontOptions } from './front-options.js'

// Time-outs, memory and closing. test/differential.test.ts compares answers byte by byte.
const MEMORY_BYTES = 150_000

let server: Server
let front: Front
let options: FrontOptions
let heldBytes: number
let requests: FastRequest[]
let serve: (request: FastRequest) => void
let handedOver: number
let client: Socket
let received: string

beforeEach(async () => {
  requests = []
  handedOver = 0
  serve = (request) => request.respond(200, [], ['{}'])
  server = createServer((_, response) => {
    handedOver += 1
    response.end('by Node')
  })
  server.keepAliveTimeout = 200
  heldBytes = 0
  options = {
    maxBodyBytes: 200_000,
    bodyTimeoutMs: 5_000,
    longBodyTurn: () => new Promise(setImmediate),
    memoryOf: () => ({
      take: (bytes) => {
        if (heldBytes + bytes > MEMORY_BYTES) throw new Error('no room')
        heldBytes += bytes
      },
      give: (bytes) => {
        heldBytes -= bytes
      },
    }),
    serve: (request) => {
      requests.push(request)
      serve(request)
    },
    refuse: (error, { respond }) => respond(503, [], [String(error)]),
  }
  front = attachFront(server, options)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  received = ''
  client.on('data', (data) => {
    received += data
  })
  client.on('error', () => undefined)
})
afterEach(() => {
  client.destroy()
  front.closeAll()
  server.closeAllConnections()
  server.close()
})

const post = (body = '{}') =>
  `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
const closed = () => new Promise<void>((resolve) => client.once('close', () => resolve()))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(5)
}

describe('standBefore', () => {
  it('closes an idle connection after the keep-alive time-out', async () => {
    client.write(post())
    await closed()
    expect(received).toContain('200 OK')
    expect(received).toContain('keep-alive: timeout=0')
  })

  it('keeps a connection open whose request takes longer than the keep-alive time-out', async () => {
    serve = (request) => setTimeout(() => request.respond(200, [], ['{"late":true}']), 600)
    client.write(post())
    await until(() => received.includes('{"late":true}'))
  })

  it('closes a connection whose client does not read its answer', async () => {
    serve = (request) => request.respond(200, [], ['x'.repeat(30_000_000)])
    client.pause()
    client.write(post())
    await until(() => requests.length === 1)
    await new Promise<void>((resolve) => requests[0]!.socket.once('close', () => resolve()))
  })

  it('calls back once an answer is sent or its client has gone', async () => {
    let sent = 0
    const count = () => {
      sent += 1
    }
    serve = (request) => request.respond(200, [], ['{}', Buffer.from('{}')], count)
    client.write(post())
    await until(() => sent === 1)
    serve = (request) => {
      request.socket.destroy()
      request.respond(200, [], ['{}'], count)
    }
    client.write(post())
    await until(() => sent === 2)
  })

  it('serves a body that arrives byte by byte, and hands a head that does to Node', async () => {
    const body = 'a'.repeat(1_000)
    client.setNoDelay(true)
    for (const byte of post(body)) {
      client.write(byte)
      await new Promise(setImmediate)
    }
    // A single byte does not show yet whether the request is plain.
    await until(() => received.includes('by Node'))
    client.destroy()
    client = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay(true)
    const [head, rest] = post(body).split(/(?<=\r\n\r\n)/) as [string, string]
    client.write(head)
    for (const byte of rest) {
      client.write(byte)
      await new Promise(setImmediate)
    }
    await until(() => requests.length === 1)
    expect(String(requests[0]?.body)).toBe(body)
    expect(handedOver).toBe(1)
  })

  it('pauses a long body until longBodyTurn resolves', async () => {
    const goOn: (() => void)[] = []
    options.longBodyTurn = () => new Promise((resolve) => goOn.push(resolve))
    const text = post('a'.repeat(120_000))
    client.write(text.slice(0, 100_000))
    await until(() => goOn.length === 1)
    client.write(text.slice(100_000))
    await pause(50)
    expect(requests).toEqual([])
    goOn[0]?.()
    await until(() => requests.length === 1)
    expect(requests[0]?.body).toHaveLength(120_000)
  })

  it('counts a large body as it arrives, until it is answered', async () => {
    serve = () => undefined
    const text = post('a'.repeat(120_000))
    client.write(text.slice(0, 90_000))
    await until(() => heldBytes >= 90_000)
    client.write(text.slice(90_000))
    await until(() => requests.length === 1)
    expect(heldBytes).toBe(text.length)
    requests[0]?.respond(200, [], ['{}'])
    expect(heldBytes).toBe(0)
    client.write(post('a'.repeat(60_000)))
    await until(() => requests.length === 2)
    expect(heldBytes).toBe(0)
  })

  it('releases the counted bytes if the client disconnects', async () => {
    client.write(post('a'.repeat(120_000)).slice(0, 90_000))
    await until(() => heldBytes >= 90_000)
    client.destroy()
    await until(() => heldBytes === 0)
  })

  it('answers 503 to a large body without memory for it, then serves the next request', async () => {
    heldBytes = 80_000
    const body = post('a'.repeat(120_000))
    client.write(body.slice(0, 100_000))
    await until(() => received.endsWith('Error: no room'))
    expect(received).toMatch(/^HTTP\/1.1 503 /)
    expect([requests.length, handedOver, heldBytes]).toEqual([0, 0, 80_000])
    client.write(body.slice(100_000) + post())
    await until(() => received.endsWith('{}'))
    expect(requests.map((request) => String(request.body))).toEqual(['{}'])
  })

  it('answers 503 and closes if the client of a refused body sent connection: close', async () => {
    heldBytes = 80_000
    const isClosed = closed()
    const body = post('a'.repeat(120_000)).replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')
    client.write(body.slice(0, 100_000))
    await until(() => received.endsWith('Error: no room'))
    client.write(body.slice(100_000))
    await isClosed
    expect(received).toMatch(/^HTTP\/1.1 503 .*connection: close\r\n\r\nError: no room$/s)
  })

  it('closes the connection if the rest of a refused body does not arrive', async () => {
    heldBytes = 80_000
    const isClosed = closed()
    client.write(post('a'.repeat(120_000)).slice(0, -1))
    await isClosed
    expect(received).toMatch(/^HTTP\/1.1 503 .*Error: no room$/s)
    expect(heldBytes).toBe(80_000)
  })

  it('times out a body that does not arrive and survives a later socket error', async () => {
    options.bodyTimeoutMs = 100
    const late = new Promise<Socket>((resolve) => server.once('clientError', (_, socket) => resolve(socket as Socket)))
    client.write(post().slice(0, -1))
    const socket = await late
    await closed()
    expect(requests).toEqual([])
    expect(() => socket.emit('error', new Error('ECONNRESET'))).not.toThrow()
  })

  it('closes idle connections on shutdown and lets requests in flight finish', async () => {
    serve = () => undefined
    client.write(post())
    const idle = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const gone = new Promise<void>((resolve) => idle.once('close', () => resolve()))
    await until(() => requests.length === 1)
    await pause(50)
    server.close()
    front.closeIdle()
    await gone
    requests[0]?.respond(200, [], ['{}'])
    await closed()
    expect(received).toContain('connection: close')
  })
})

import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { RpcError } from '@upfront/protocol'
import { createLogger } from '@upfront/service'
import WebSocket, { WebSocketServer } from 'ws'
import { FreeBudget } from '../limits/free-budget.js'
import { Memory } from '../limits/memory.js'
import { Tally } from '../limits/tally.js'
import type { Budget } from '../requests/request.js'
import type { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import { WebSocketConnection } from './web-socket-connection.js'

/** These tests make no calls. */
const endpoint = {} as RpcEndpoint

async function connected(options: WebSocket.ClientOptions) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, options)
  const [[webSocket, { socket }]] = await Promise.all([
    accepted as Promise<[WebSocket, { socket: Socket }]>,
    once(client, 'open'),
  ])
  const limits = { callsPerSecond: 0, gasPerMinute: 1, bytesPerMinute: 1, readsPerMinute: 1 }
  const connection = new WebSocketConnection(
    { webSocket, socket, caller: '127.0.0.1', dialect: 'upfront' },
    {
      endpoint,
      budget: {} as Budget,
      free: new FreeBudget(limits),
      memory: new Memory(2 ** 30),
      logger: createLogger({ level: 'silent' }),
      answerTimeoutMs: 1_000,
      subscriptions: new Tally(),
    },
  )
  return { client, connection, webSocket, socket, close: () => server.close() }
}

describe('WebSocketConnection', () => {
  it('keeps a client connected that answers pings', async () => {
    const { client, connection, webSocket, close } = await connected({})
    for (let time = 0; time < 3; time++) {
      const pong = once(webSocket, 'pong')
      connection.ping()
      await pong
    }
    expect(client.readyState).toBe(WebSocket.OPEN)
    client.terminate()
    close()
  })

  it('closes a client whose pong does not match the ping', async () => {
    const { client, connection, webSocket, close } = await connected({ autoPong: false })
    connection.ping()
    await once(client, 'ping')
    client.pong('another')
    await once(webSocket, 'pong')
    connection.ping()
    expect((await once(client, 'close'))[0]).toBe(1006)
    close()
  })

  it('reads one long message at a time across connections', async () => {
    const all = await Promise.all(Array.from({ length: 16 }, () => connected({})))
    let turn = 0
    /** The connections that were read from in each turn of the event loop. */
    const reading = new Map<number, Set<Socket>>()
    for (const { socket } of all) {
      let read = 0
      socket.on('data', ({ length }: Buffer) => {
        if (read > 131_072) reading.set(turn, (reading.get(turn) ?? new Set()).add(socket))
        read += length
      })
    }
    // A text frame of 1,000,000 bytes, masked with zeroes, without its last byte.
    const half = Buffer.concat([Buffer.from('01ff00000000000f424000000000', 'hex'), Buffer.alloc(999_999, 0x20)])
    for (const { client } of all) (client as unknown as { _socket: Socket })._socket.write(half)
    for (; all.some(({ socket }) => socket.bytesRead < half.length); turn++) await setImmediate()
    // The connection whose turn it is, and the previous one with data already read.
    expect(Math.max(...[...reading.values()].map(({ size }) => size))).toBeLessThanOrEqual(2)
    for (const { client, close } of all) {
      client.terminate()
      close()
    }
  })

  it('counts the memory that a subscription keeps, even if its message was shorter', async () => {
    const { client, connection, close } = await connected({})
    const begin = async () => () => undefined
    const id = await connection.subscribe(begin, 2 ** 20)
    await expect(connection.subscribe(begin, 2 ** 30)).rejects.toThrow(RpcError)
    expect(connection.unsubscribe(id)).toBe(true)
    expect(connection.subscribed).toBe(0)
    client.terminate()
    close()
  })
})

import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { RpcError } from '@upfront/protocol'
import { createLogger } from '@upfront/service'
import WebSocket, { WebSocketServer } from 'ws'
import { FreeBudget } from '../limits/free-budget.js'
import { Memory } from '../limits/memory.js'
import type { Budget } from '../requests/request.js'
import type { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import { WebSocketConnection } from './web-socket-connection.js'

/** Never asked here. */
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
      subscriptions: () => 0,
    },
  )
  return { client, connection, webSocket, close: () => server.close() }
}

describe('WebSocketConnection', () => {
  it('keeps a client that answers pings', async () => {
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

  it('takes no pong for life but the one to its own ping', async () => {
    const { client, connection, webSocket, close } = await connected({ autoPong: false })
    connection.ping()
    await once(client, 'ping')
    client.pong('another')
    await once(webSocket, 'pong')
    connection.ping()
    expect((await once(client, 'close'))[0]).toBe(1006)
    close()
  })

  it('counts what a subscription keeps, though its message was shorter', async () => {
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

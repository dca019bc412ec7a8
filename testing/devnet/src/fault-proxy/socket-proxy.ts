import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'

/** A proxy for a node's WebSocket. All settings may be changed at any time. */
export interface SocketProxy {
  readonly url: string
  /** Delay added to every message of the node, milliseconds. */
  latencyMs: number
  /** Whether to drop announcements (`eth_subscription`), leaving the connection open but silent. */
  muted: boolean
  /** Announcements forwarded so far. */
  readonly announced: number
  /** Closes all connections, like a restarting node. */
  disconnect(): void
  stop(): Promise<void>
}

/** Starts a proxy on a free port of 127.0.0.1 that forwards WebSocket messages to and from `target`. */
export async function startSocketProxy(target: string): Promise<SocketProxy> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  let announced = 0
  const proxy = {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    latencyMs: 0,
    muted: false,
    get announced() {
      return announced
    },
    disconnect() {
      for (const client of server.clients) client.terminate()
    },
    async stop() {
      proxy.disconnect()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  server.on('connection', (client) => {
    const node = new WebSocket(target)
    const waiting: string[] = []
    node.on('error', () => client.terminate())
    node.on('close', () => client.terminate())
    node.on('open', () => {
      for (const message of waiting.splice(0)) node.send(message)
    })
    client.on('error', () => node.terminate())
    client.on('close', () => node.terminate())
    client.on('message', (data) => {
      if (node.readyState === WebSocket.OPEN) node.send(String(data))
      else waiting.push(String(data))
    })
    node.on('message', (data) => {
      const message = String(data)
      const announces = message.includes('"eth_subscription"')
      if (announces && proxy.muted) return
      setTimeout(() => {
        if (client.readyState !== WebSocket.OPEN) return
        if (announces) announced += 1
        client.send(message)
      }, proxy.latencyMs)
    })
  })
  return proxy
}

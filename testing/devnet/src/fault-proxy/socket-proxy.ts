import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'

/** A proxy in front of a node's WebSocket. What it does may be changed at any time. */
export interface SocketProxy {
  readonly url: string
  /** Added to every message of the node, milliseconds. */
  latencyMs: number
  /** Whether announcements (`eth_subscription`) are swallowed: the connection stays open and silent. */
  muted: boolean
  /** Announcements passed on so far. */
  readonly announced: number
  /** Ends all connections, as a node that restarts does. */
  disconnect(): void
  stop(): Promise<void>
}

/** Starts a proxy on a free port of 127.0.0.1 that passes WebSocket messages on to `target` and back. */
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

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, constants } from 'node:zlib'
import { type WebSocket, WebSocketServer } from 'ws'

export interface StreamServer {
  url: string
  /** Sends a message to every client, as text or as brotli in a binary frame. */
  send(text: string): void
  sendFrame(frame: string | Uint8Array): void
  /** Closes all connections, like a restarting server. */
  disconnect(): void
  /** Keeps connections open but reads nothing, so pings get no answer. */
  freeze(frozen: boolean): void
  onControl(handler: (path: URL) => string | undefined): void
  stop(): Promise<void>
}

/** A WebSocket server that broadcasts, and accepts control requests by `POST` on the same port. */
export async function startStreamServer(options: { port: number; encoding: 'json' | 'brotli' }): Promise<StreamServer> {
  let control: (path: URL) => string | undefined = () => undefined
  const http = createServer((request, response) => {
    const answer = request.method === 'POST' ? control(new URL(request.url ?? '/', 'http://sequencer')) : undefined
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'text/plain' })
    response.end(`${answer ?? 'POST /inject?fault=NAME'}\n`)
  })
  const sockets = new WebSocketServer({ server: http, perMessageDeflate: false, autoPong: true })
  // Repeats the HTTP server's errors, which are handled there.
  sockets.on('error', () => undefined)
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(options.port, '127.0.0.1', resolve)
  })
  const clients = () => [...sockets.clients] as WebSocket[]
  const sendFrame = (frame: string | Uint8Array) => {
    for (const client of clients()) if (client.readyState === client.OPEN) client.send(frame)
  }
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`,
    send: (text) => sendFrame(options.encoding === 'json' ? text : compressed(text)),
    sendFrame,
    disconnect: () => {
      for (const client of clients()) client.terminate()
    },
    freeze: (frozen) => {
      for (const client of clients()) frozen ? client.pause() : client.resume()
    },
    onControl: (handler) => {
      control = handler
    },
    stop: async () => {
      for (const client of clients()) client.terminate()
      sockets.close()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

/** Brotli at a quality fast enough for the stream. */
export function compressed(text: string): Uint8Array {
  return brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })
}

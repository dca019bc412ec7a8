import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Tracks a server's connections and the requests on each. `server.close()` waits for all connections, and Node counts unused ones as busy:
 * fetch opens one after each aborted request, which would keep the server open for a minute (`headersTimeout`).
 */
export class Connections {
  readonly #underWay = new Map<Socket, number>()
  #ending = false

  constructor(server: Server) {
    server.on('connection', (socket) => {
      this.#underWay.set(socket, 0)
      socket.once('close', () => this.#underWay.delete(socket))
      if (this.#ending) socket.destroy()
    })
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#count(socket, 1)
      response.once('close', () => this.#count(socket, -1))
    })
  }

  /** Closes each connection as soon as it has no request under way. */
  end(): void {
    this.#ending = true
    for (const [socket, requests] of this.#underWay) if (requests === 0) socket.destroy()
  }

  #count(socket: Socket, change: 1 | -1): void {
    const requests = (this.#underWay.get(socket) ?? 0) + change
    if (!socket.destroyed) this.#underWay.set(socket, requests)
    if (this.#ending && requests === 0) socket.destroySoon()
  }
}

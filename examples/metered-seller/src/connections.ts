import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The connections of a server, and what is under way on each. Closing a server waits for all of them, and Node takes one
 * on which nothing was asked yet for busy: fetch opens such a connection after each request that it aborts, and the
 * server would stay open until `headersTimeout` ends it, a minute later.
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

  /** Closes each connection as soon as nothing is under way on it. */
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

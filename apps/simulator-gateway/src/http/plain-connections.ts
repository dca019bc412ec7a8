import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { PlainConnection, type PlainConnectionOwner, type PlainConnectionsOptions } from './plain-connection.js'

/**
 * Reads the plainest requests, small JSON by `POST /`, from their connections itself: Node's own way from a connection to a
 * request and back takes as long as a small simulation. Where anything else comes in, the connection is Node's from there on.
 */
export class PlainConnections implements PlainConnectionOwner {
  readonly #open = new Set<PlainConnection>()
  readonly #listener: (socket: Socket) => void

  /** Puts itself before the one listener that the server has for connections. */
  constructor(
    readonly server: Server,
    readonly options: PlainConnectionsOptions,
  ) {
    const [listener] = server.listeners('connection') as [(socket: Socket) => void]
    this.#listener = listener
    server.off('connection', listener)
    server.on('connection', (socket: Socket) => this.#open.add(new PlainConnection(socket, this)))
  }

  /** Closes those on which nothing is under way, be it that nothing was ever asked. */
  closeIdle(): void {
    for (const connection of this.#open) if (connection.isIdle) connection.socket.destroy()
  }

  closeAll(): void {
    for (const { socket } of this.#open) socket.destroy()
  }

  forget(connection: PlainConnection): void {
    this.#open.delete(connection)
  }

  /** Lets Node read the connection, from what was `received` on. */
  handOver(socket: Socket, received: Buffer): void {
    socket.pause()
    socket.unshift(received)
    this.#listener.call(this.server, socket)
    process.nextTick(() => socket.resume())
  }
}

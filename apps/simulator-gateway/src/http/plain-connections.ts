import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { PlainConnection } from './plain-connection.js'
import type { PlainHead } from './plain-head.js'

/** A plain request, to be answered once. */
export interface PlainRequest {
  readonly head: PlainHead
  readonly body: string
  /** Whence it came. It closes when nobody waits for the answer any more. */
  readonly socket: Socket
  /** @param headers but for length, date and connection: name, value, name, value … */
  answer(status: number, headers: readonly string[], body: readonly (string | Buffer)[], sent?: () => void): void
}

export interface PlainConnectionsOptions {
  /** Longer bodies are not plain. */
  maxBodyBytes: number
  /** Milliseconds within which a body must have come once its head has. */
  arrivalMs: number
  serve(request: PlainRequest): void
}

/**
 * Reads the plainest requests, small JSON by `POST /`, from their connections itself: Node's own way from a connection to a
 * request and back takes as long as a small simulation. Where anything else comes in, the connection is Node's from there on.
 */
export class PlainConnections {
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

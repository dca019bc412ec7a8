import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { Connection, type ConnectionOwner } from './connection.js'
import type { FrontOptions } from './front-options.js'

/** The connections that the front still reads itself. The server knows all others. */
export interface Front {
  /** Closes connections on which no request is under way. */
  closeIdle(): void
  closeAll(): void
  /** Whether no request is under way on the connection; undefined if Node has it. */
  isIdle(socket: Socket): boolean | undefined
}

/**
 * Reads plain requests (`POST /` with a JSON body of known length) from the server's connections without Node's HTTP parser. If anything
 * else arrives, valid or not, the connection and all bytes read so far are handed to Node for good.
 * Call it before the server listens.
 */
export function attachFront(server: Server, options: FrontOptions): Front {
  return new ConnectionFront(server, options)
}

class ConnectionFront implements Front, ConnectionOwner {
  readonly #open = new Map<Socket, Connection>()
  readonly #listeners: ((socket: Socket) => void)[]

  constructor(
    readonly server: Server,
    readonly options: FrontOptions,
  ) {
    this.#listeners = server.listeners('connection') as ((socket: Socket) => void)[]
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => this.#open.set(socket, new Connection(socket, this)))
  }

  closeIdle(): void {
    for (const connection of this.#open.values()) if (connection.isIdle) connection.socket.destroy()
  }

  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy()
  }

  isIdle(socket: Socket): boolean | undefined {
    const connection = this.#open.get(socket)
    return connection && !connection.isBusy
  }

  forget(connection: Connection): void {
    this.#open.delete(connection.socket)
  }

  handOver(socket: Socket, received: Buffer): void {
    socket.pause()
    socket.unshift(received)
    for (const listener of this.#listeners) listener.call(this.server, socket)
    process.nextTick(() => socket.resume())
  }
}

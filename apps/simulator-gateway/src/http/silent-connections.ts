import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Connections on which nothing was asked yet. Node takes them for busy, and a server that closes would wait for them until
 * `headersTimeout`: fetch opens one after each request that it aborts.
 */
export class SilentConnections {
  private readonly silent = new Set<Socket>()
  private ending = false

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      if (this.ending) {
        socket.destroy()
        return
      }
      this.silent.add(socket)
      socket.once('close', () => this.silent.delete(socket))
    })
    server.on('request', ({ socket }) => this.silent.delete(socket))
  }

  /** Closes them, and those to come. */
  end(): void {
    this.ending = true
    for (const socket of this.silent) socket.destroy()
  }
}

import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { clientOf } from './client-of.js'

/** Closes a client's connections beyond its share as they are made. */
export function limitConnections(server: Server, limits: { total: number; perClient?: number | undefined }): void {
  const { total, perClient } = limits
  server.maxConnections = total
  if (perClient === undefined) return
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket.remoteAddress ?? '')
    const count = (open.get(client) ?? 0) + 1
    open.set(client, count)
    socket.once('close', () => {
      const left = (open.get(client) ?? 1) - 1
      if (left === 0) open.delete(client)
      else open.set(client, left)
    })
    if (count > perClient) socket.destroy()
  })
}

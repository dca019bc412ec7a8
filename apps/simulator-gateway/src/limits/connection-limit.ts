import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { clientOf } from './client-of.js'
import type { Memory } from './memory.js'

/** What an open connection takes in memory, idle or not. */
const CONNECTION_BYTES = 16_384

export interface ConnectionLimits {
  total: number
  /** Of one client; unlimited where absent. */
  perClient?: number | undefined
  memory: Pick<Memory, 'take' | 'give'>
}

/** Closes connections as they are made where a client has its share, or memory is short. */
export function limitConnections(server: Server, { total, perClient, memory }: ConnectionLimits): void {
  server.maxConnections = total
  server.on('connection', (socket: Socket) => {
    try {
      memory.take(CONNECTION_BYTES)
      socket.once('close', () => memory.give(CONNECTION_BYTES))
    } catch {
      socket.destroy()
    }
  })
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

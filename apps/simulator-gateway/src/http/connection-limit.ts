import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clientOf, NETWORK_MULTIPLE, networkOf } from '../limits/client-of.js'
import type { Memory } from '../limits/memory.js'
import { Overloaded, RETRY_AFTER_SECONDS } from '../limits/refused.js'
import { Tally } from '../limits/tally.js'
import { failureBody, failureOf } from '../rpc/failure.js'

/** Memory that an open connection takes, idle or not. */
const CONNECTION_BYTES = 16_384

export interface ConnectionLimits {
  total: number
  /** Most connections of one client; unlimited if absent. */
  perClient?: number | undefined
  memory: Pick<Memory, 'take' | 'give'>
  /** Whether no request is under way on a connection that the front still reads; undefined if Node has it. */
  isIdle(socket: Socket): boolean | undefined
}

/**
 * Refuses new connections with HTTP 503 if their client has its share or memory is short. If all connections are taken, an idle one is
 * closed instead: one of the client, or IPv6 network, that has the most.
 */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const open = new Connections(limits)
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => open.isAsked(socket, response))
  server.on('upgrade', ({ socket }: IncomingMessage) => open.isUpgraded(socket))
  server.on('connection', (socket: Socket) => {
    if (!open.add(socket)) refuse(socket)
  })
}

class Connections {
  /** By client, or by IPv6 /48; the oldest first. */
  readonly #open = new Map<string, Set<Socket>>()
  readonly #byClient = new Tally()
  /** How many requests Node is handling on each connection. */
  readonly #busy = new WeakMap<Socket, number>()
  #count = 0
  readonly #limits: ConnectionLimits

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /** Returns false if there is no room for the connection. */
  add(socket: Socket): boolean {
    const { total, memory } = this.#limits
    const client = clientOf(socket.remoteAddress ?? '')
    const group = networkOf(client) ?? client
    if (this.#hasItsShare(client, group)) return false
    if (this.#count >= total && !this.#closeIdle(this.#open.get(group)?.size ?? 0)) return false
    try {
      memory.take(CONNECTION_BYTES)
    } catch {
      return false
    }
    this.#count += 1
    this.#byClient.add(client)
    const sockets = this.#open.get(group) ?? new Set()
    this.#open.set(group, sockets.add(socket))
    socket.once('close', () => {
      memory.give(CONNECTION_BYTES)
      this.#byClient.add(client, -1)
      this.#remove(group, socket)
    })
    return true
  }

  isAsked(socket: Socket, response: ServerResponse): void {
    this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1)
    response.once('close', () => this.#busy.set(socket, (this.#busy.get(socket) ?? 1) - 1))
  }

  isUpgraded(socket: Socket): void {
    this.#busy.set(socket, Number.POSITIVE_INFINITY)
  }

  #hasItsShare(client: string, group: string): boolean {
    const { perClient } = this.#limits
    if (perClient === undefined) return false
    if (this.#byClient.of(client) >= perClient) return true
    return group !== client && (this.#open.get(group)?.size ?? 0) >= NETWORK_MULTIPLE * perClient
  }

  /** Closes an idle connection of a client that has the most, and at least `least`. Returns false if none of theirs is idle. */
  #closeIdle(least: number): boolean {
    const bySize = [...this.#open].sort(([, a], [, b]) => b.size - a.size)
    for (const [group, sockets] of bySize) {
      if (sockets.size < least) return false
      for (const socket of sockets) {
        if (!this.#isIdle(socket)) continue
        // Removed here because `close` is emitted later.
        this.#remove(group, socket)
        socket.destroy()
        return true
      }
    }
    return false
  }

  #isIdle(socket: Socket): boolean {
    return this.#limits.isIdle(socket) ?? (this.#busy.get(socket) ?? 0) === 0
  }

  #remove(group: string, socket: Socket): void {
    const sockets = this.#open.get(group)
    if (!sockets?.delete(socket)) return
    this.#count -= 1
    if (sockets.size === 0) this.#open.delete(group)
  }
}

const BODY = failureBody(null, failureOf(new Overloaded('too many connections')))
const REFUSAL = Buffer.from(
  `HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\nretry-after: ${RETRY_AFTER_SECONDS}\r\n` +
    `content-length: ${Buffer.byteLength(BODY)}\r\nconnection: close\r\n\r\n${BODY}`,
)

function refuse(socket: Socket): void {
  socket.end(REFUSAL)
  socket.destroySoon()
}

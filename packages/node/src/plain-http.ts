import { connect, type Socket } from 'node:net'
import type { Exchange } from './exchange.js'
import { PlainResponse } from './plain-response.js'

/** Idle for longer, a connection is not used again: the node, or something between, may have forgotten it. */
const IDLE_MOST_MS = 4_000
/** After a response that is not plain, requests go another way for this long. */
const OTHERWISE_MS = 60_000
/** Read into by all connections: what comes is copied before the next one reads. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536)

/**
 * JSON-RPC requests over HTTP/1.1 to one `http:` URL, on connections that are kept. Made for the one kind of exchange that
 * nodes have, it takes less than half the CPU of an HTTP client for all kinds (28 µs, undici's 62). What turns out to be of
 * another kind goes to one, and so may be asked twice, as what was sent as the node closed the connection: reads alone.
 */
export class PlainHttp {
  readonly #host: string
  readonly #port: number
  readonly #head: string
  readonly #most: number
  readonly #otherwise: (exchange: Exchange) => void
  readonly #open = new Set<Connection>()
  readonly #idle: Connection[] = []
  readonly #waiting = new Set<Exchange>()
  #otherwiseUntil = 0
  #isClosed = false

  /**
   * @param connections at most
   * @param otherwise does an exchange with another HTTP client
   */
  constructor(url: URL, headers: Record<string, string>, connections: number, otherwise: (exchange: Exchange) => void) {
    this.#host = url.hostname.replace(/^\[|\]$/g, '')
    this.#port = url.port === '' ? 80 : Number(url.port)
    const fields = Object.entries({ host: url.host, connection: 'keep-alive', ...headers })
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`)
    this.#head = `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}content-length: `
    this.#most = connections
    this.#otherwise = otherwise
  }

  exchange(exchange: Exchange): void {
    if (performance.now() < this.#otherwiseUntil) {
      this.#otherwise(exchange)
      return
    }
    const connection = this.#takeIdle() ?? (this.#open.size < this.#most ? this.#connect() : undefined)
    if (connection !== undefined) {
      connection.send(exchange)
      return
    }
    this.#waiting.add(exchange)
    exchange.begun(() => this.#waiting.delete(exchange))
  }

  /** What is under way fails. */
  close(): void {
    this.#isClosed = true
    for (const connection of this.#open) connection.drop()
    for (const exchange of this.#waiting) exchange.failed(new Error('closed'))
    this.#waiting.clear()
  }

  #takeIdle(): Connection | undefined {
    const connection = this.#idle.pop()
    if (connection === undefined || performance.now() - connection.idleSince <= IDLE_MOST_MS) return connection
    // It was the one used last.
    for (const stale of [connection, ...this.#idle.splice(0)]) stale.drop()
    return undefined
  }

  #connect(): Connection {
    const connection: Connection = new Connection(this.#host, this.#port, this.#head, {
      free: () => {
        if (!this.#serveWaiting(connection)) this.#idle.push(connection)
      },
      ended: (unsent) => {
        this.#open.delete(connection)
        const index = this.#idle.indexOf(connection)
        if (index >= 0) this.#idle.splice(index, 1)
        if (this.#isClosed) unsent?.failed(new Error('closed'))
        else if (unsent !== undefined) this.#connect().send(unsent)
        else if (this.#waiting.size > 0) this.#serveWaiting(this.#connect())
      },
      odd: (exchange) => {
        this.#otherwiseUntil = performance.now() + OTHERWISE_MS
        this.#otherwise(exchange)
      },
    })
    this.#open.add(connection)
    return connection
  }

  #serveWaiting(connection: Connection): boolean {
    const [next] = this.#waiting
    if (next === undefined) return false
    this.#waiting.delete(next)
    connection.send(next)
    return true
  }
}

interface Owner {
  /** The connection can take the next exchange. */
  free(): void
  /** It can take none any more. `unsent` is one that the other side may not have seen: it had closed a connection used before. */
  ended(unsent: Exchange | undefined): void
  /** The response is none that a plain connection understands. */
  odd(exchange: Exchange): void
}

class Connection {
  /** `performance.now()` */
  idleSince = 0
  readonly #socket: Socket
  readonly #head: string
  readonly #owner: Owner
  #exchange: Exchange | undefined
  #response: PlainResponse | undefined
  #wasUsed = false
  #hasEnded = false
  #error: Error | undefined

  constructor(host: string, port: number, head: string, owner: Owner) {
    this.#head = head
    this.#owner = owner
    const callback = (length: number) => {
      const bytes = Buffer.allocUnsafe(length)
      READ_BUFFER.copy(bytes, 0, 0, length)
      this.#receive(bytes)
      return true
    }
    this.#socket = connect({ host, port, noDelay: true, onread: { buffer: READ_BUFFER, callback } })
    this.#socket.on('error', (error) => {
      this.#error = error
    })
    this.#socket.on('end', () => this.drop())
    this.#socket.on('close', () => this.drop())
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange
    this.#response = new PlainResponse(exchange)
    exchange.begun(() => {
      this.#exchange = undefined
      this.drop()
    })
    if (this.#exchange === undefined) return
    this.#socket.ref()
    const { body } = exchange
    const length = Buffer.byteLength(body)
    // Without a character of more than a byte, the cheaper encoding says the same.
    this.#socket.write(`${this.#head}${length}\r\n\r\n${body}`, length === body.length ? 'latin1' : 'utf8')
  }

  /** Ends the connection; what it was at fails, or is done on another one. */
  drop(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#socket.destroy()
    const exchange = this.#exchange
    const isUnsent = this.#wasUsed && this.#response?.begun === false
    this.#exchange = undefined
    this.#owner.ended(isUnsent ? exchange : undefined)
    if (!isUnsent) exchange?.failed(this.#error ?? new Error('the other side closed the connection'))
  }

  #receive(bytes: Buffer): void {
    const exchange = this.#exchange
    const progress = exchange === undefined ? undefined : this.#response?.take(bytes)
    // Where the exchange gave up meanwhile, the connection ended with it.
    if (progress === 'more' || this.#hasEnded) return
    this.#exchange = undefined
    if (progress === 'done' && this.#response?.keepsAlive) this.#rest()
    else this.drop()
    if (progress === 'done') exchange?.done()
    else if (progress === 'odd') this.#owner.odd(exchange!)
    else exchange?.failed(new Error('the response is cut into chunks wrongly'))
  }

  #rest(): void {
    this.#response = undefined
    this.#wasUsed = true
    this.idleSince = performance.now()
    this.#socket.unref()
    this.#owner.free()
  }
}

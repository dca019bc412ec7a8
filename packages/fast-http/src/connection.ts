import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastRequest, FrontOptions, MemoryShare } from './front-options.js'
import { type PlainHead, readPlainHead } from './read-head.js'
import { ReceivedBytes } from './received-bytes.js'
import { writeResponse } from './write-response.js'

/** Node's default limit for a request's head. */
const MAX_HEAD_BYTES = 16_384
/** Longer heads are not remembered: they are parsed each time. */
const MAX_REMEMBERED_HEAD_BYTES = 2_048
/** Bytes that are read ahead from a connection while a request on it is served; then reading pauses. */
const MAX_AHEAD_BYTES = 65_536
/** Once more than this of a body has arrived, its reads take turns: one long body per turn of the event loop. */
const LONG_BYTES = 65_536
/** Time for the rest of a refused body to arrive, so that the client can read the refusal. */
export const REST_OF_BODY_MS = 1_000

/** The front that a connection belongs to. */
export interface ConnectionOwner {
  readonly server: Server
  readonly options: FrontOptions
  forget(connection: Connection): void
  /** Gives the connection to Node, which reads `received` first. */
  handOver(socket: Socket, received: Buffer): void
}

interface ReadHead {
  bytes: Buffer
  head: PlainHead
}

/** A connection that has brought only plain requests so far. Its requests are served one after another. */
export class Connection {
  readonly #received = new ReceivedBytes()
  /** Bytes that must have arrived before parsing continues. */
  #needed = 1
  #bodyTimer: NodeJS.Timeout | undefined
  /** The head of the request whose body is still arriving. */
  #arriving: PlainHead | undefined
  /** Bytes still to come of a refused body. */
  #refused = 0
  /** A request is being served, or the next one is scheduled. */
  #isBusy = false
  /** Set once a request arrives in several pieces. */
  #memory: MemoryShare | undefined
  /** Bytes taken from `#memory`. */
  #counted = 0
  /** The last head parsed: clients send the same head again and again. */
  #lastHead: ReadHead | undefined
  readonly #owner: ConnectionOwner

  constructor(
    readonly socket: Socket,
    owner: ConnectionOwner,
  ) {
    this.#owner = owner
    socket.setTimeout(owner.server.keepAliveTimeout)
    socket.on('data', this.#onData).on('end', this.#onEnd).on('timeout', this.#onTimeout)
    socket.on('error', ignore).on('close', this.#onClose)
  }

  /** Whether a complete request has arrived and is not answered yet. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  get isIdle(): boolean {
    return !this.#isBusy && this.#received.length === 0
  }

  readonly #onData = (arrived: Buffer) => {
    const chunk = this.#refused > 0 ? this.#skipRefused(arrived) : arrived
    if (chunk.length === 0) return
    const received = this.#received
    received.add(chunk)
    if (this.#isBusy) {
      if (received.length > MAX_AHEAD_BYTES) this.socket.pause()
    } else if (this.#arriving !== undefined && !this.#count(this.#arriving)) {
      return
    } else if (received.length >= this.#needed) {
      this.#next()
    } else if (received.length > LONG_BYTES) {
      this.socket.pause()
      void this.#owner.options.longBodyTurn().then(() => this.socket.resume())
    }
  }

  /** Like Node: a client that ends its side before the answer is ready gets none. */
  readonly #onEnd = () => {
    if (this.#isBusy || this.#received.length === 0) this.socket.end()
    else this.#refuse('HPE_INVALID_EOF_STATE', 400)
  }

  /** Requests have their own deadline; only an idle connection, or one whose client does not read its answer, is closed here. */
  readonly #onTimeout = () => {
    if (!this.#isBusy || this.socket.writableLength > 0) this.socket.destroy()
  }

  readonly #onClose = () => {
    clearTimeout(this.#bodyTimer)
    this.#uncount()
    this.#owner.forget(this)
  }

  readonly #onBodyTimeout = () => this.#refuse('ERR_HTTP_REQUEST_TIMEOUT', 408)

  /** Serves the first request if it has arrived completely; hands the connection to Node if the request is not plain. */
  #next(): void {
    const received = this.#received.join()
    const read = this.#readHead(received)
    if (read === undefined || read.head.contentLength > this.#owner.options.maxBodyBytes) {
      this.#handOver()
      return
    }
    const { bytes, head } = read
    const end = bytes.length + head.contentLength
    if (received.length < end) {
      this.#needed = end
      this.#received.most = end
      this.#arriving = head
      this.#bodyTimer ??= setTimeout(this.#onBodyTimeout, this.#owner.options.bodyTimeoutMs)
      this.#count(head)
      return
    }
    clearTimeout(this.#bodyTimer)
    this.#bodyTimer = undefined
    this.#received.drop(end)
    this.#needed = 1
    this.#arriving = undefined
    this.#isBusy = true
    this.#owner.options.serve({
      requestId: head.requestId,
      body: received.subarray(bytes.length, end),
      socket: this.socket,
      respond: (status, headers, body, onSent) => this.#respond(head, status, headers, body, onSent),
    })
  }

  #readHead(received: Buffer): ReadHead | undefined {
    const last = this.#lastHead
    if (last !== undefined && startsWith(received, last.bytes)) return last
    const end = received.indexOf('\r\n\r\n') + 4
    if (end < 4 || end > MAX_HEAD_BYTES) return undefined
    const head = readPlainHead(received.toString('latin1', 0, end), this.#owner.options.leave)
    if (head === undefined) return undefined
    const read = { bytes: Buffer.from(received.subarray(0, end)), head }
    if (end <= MAX_REMEMBERED_HEAD_BYTES) this.#lastHead = read
    return read
  }

  /** Counts the bytes held for an incomplete request. @returns false if there is no memory for them: the request is refused */
  #count(head: PlainHead): boolean {
    try {
      this.#memory ??= this.#owner.options.memoryOf(this.socket)
      this.#memory.take(this.#received.held - this.#counted)
    } catch (error) {
      this.#refuseBody(head, error)
      return false
    }
    this.#counted = this.#received.held
    return true
  }

  /** Answers here rather than through Node, which takes ten times as long: thousands may be refused at once. */
  #refuseBody(head: PlainHead, error: unknown): void {
    clearTimeout(this.#bodyTimer)
    this.#bodyTimer = setTimeout(() => this.socket.destroy(), REST_OF_BODY_MS)
    this.#refused = this.#needed - this.#received.length
    this.#received.drop(this.#received.length)
    this.#needed = 1
    this.#arriving = undefined
    this.#isBusy = true
    this.#owner.options.refuse(error, {
      requestId: head.requestId,
      socket: this.socket,
      respond: (status, headers, body, onSent) => this.#respond(head, status, headers, body, onSent),
    })
  }

  /** @returns the bytes after the refused body */
  #skipRefused(arrived: Buffer): Buffer {
    const skipped = Math.min(arrived.length, this.#refused)
    this.#refused -= skipped
    if (this.#refused === 0) {
      clearTimeout(this.#bodyTimer)
      this.#bodyTimer = undefined
      if (this.socket.writableEnded) this.socket.destroy()
    }
    return arrived.subarray(skipped)
  }

  #uncount(): void {
    this.#memory?.give(this.#counted)
    this.#counted = 0
  }

  #respond(head: PlainHead, ...[status, headers, body, onSent]: Parameters<FastRequest['respond']>): void {
    this.#uncount()
    const { socket } = this
    const { server } = this.#owner
    if (socket.destroyed || socket.writableEnded) {
      onSent?.()
      return
    }
    const isLast = head.close || !server.listening
    const keepAliveSeconds = isLast ? undefined : Math.floor(server.keepAliveTimeout / 1000)
    const onWritten = () => {
      onSent?.()
      if (!isLast) this.#onAnswered()
      else if (this.#refused > 0) socket.end()
      else socket.destroySoon()
    }
    writeResponse(socket, status, { headers, body, keepAliveSeconds, onWritten })
  }

  readonly #onAnswered = () => {
    if (this.#received.length === 0) {
      this.#isBusy = false
      return
    }
    // Other connections take their turn first. The socket is paused so that its end is not seen before the requests that preceded it.
    this.socket.pause()
    setImmediate(() => {
      this.#isBusy = false
      if (this.socket.destroyed) return
      this.#next()
      this.socket.resume()
    })
  }

  /** Handles a broken request as Node's server does: emits `clientError`, or answers with `status`. */
  #refuse(code: string, status: number): void {
    this.#detach()
    const { socket } = this
    const error = Object.assign(new Error(code), { code })
    if (!this.#owner.server.emit('clientError', error, socket))
      socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`)
    socket.resume().destroySoon()
  }

  #handOver(): void {
    this.#detach()
    this.#owner.handOver(this.socket, this.#received.join())
  }

  /** Removes all listeners except the one for errors: without it, an error would end the process. */
  #detach(): void {
    clearTimeout(this.#bodyTimer)
    this.#uncount()
    const { socket } = this
    socket.off('data', this.#onData).off('end', this.#onEnd).off('timeout', this.#onTimeout)
    socket.off('close', this.#onClose).setTimeout(0)
    this.#owner.forget(this)
  }
}

function ignore(): void {}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.length >= start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0
}

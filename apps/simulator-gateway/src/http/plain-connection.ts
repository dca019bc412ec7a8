import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type BufferedBytes, SMALL_BYTES } from './buffered-bytes.js'
import { type PlainHead, readPlainHead } from './plain-head.js'
import { readInto } from './read-into.js'

/** Node's own bound. */
const MOST_HEAD_BYTES = 16_384
/** Longer ones are read anew each time. */
const MOST_REMEMBERED_BYTES = 2_048
/** What may come in while a request is under way, until it is answered. */
const MOST_AHEAD_BYTES = 65_536
/** Bytes that come one by one must not take a hundred times their room. */
const MOST_CHUNKS = 64

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
  /** Counts bodies that are not small, from their first byte until they are answered. */
  buffered: BufferedBytes
  serve(request: PlainRequest): void
}

/** What a connection is one of. */
export interface PlainConnectionOwner {
  readonly server: Server
  readonly options: PlainConnectionsOptions
  forget(connection: PlainConnection): void
  handOver(socket: Socket, received: Buffer): void
}

interface ReadHead {
  bytes: Buffer
  head: PlainHead
}

/** One connection, as long as nothing but plain requests comes in. They are served one after another. */
export class PlainConnection {
  #chunks: Buffer[] = []
  #length = 0
  /** So many bytes must have come before there is something to do. */
  #needed = 1
  #arrival: NodeJS.Timeout | undefined
  #isBusy = false
  /** Bytes that are counted. */
  #held = 0
  /** What comes in is not this one's business any more. */
  #hasLeft = false
  /** Clients repeat themselves. */
  #lastHead: ReadHead | undefined

  constructor(
    readonly socket: Socket,
    private readonly all: PlainConnectionOwner,
  ) {
    socket.setTimeout(all.server.keepAliveTimeout)
    if (!readInto(socket, this.#take)) socket.on('data', this.#onData)
    socket.on('end', this.#onEnd).on('timeout', this.#onTimeout)
    socket.on('error', ignore).on('close', this.#onClose)
  }

  get isIdle(): boolean {
    return !this.#isBusy && this.#length === 0
  }

  readonly #take = (chunk: Buffer) => {
    if (this.#hasLeft) return this.socket.push(chunk)
    this.#onData(chunk)
    return true
  }

  readonly #onData = (chunk: Buffer) => {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#chunks.length > MOST_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks, this.#length)]
    if (this.#isBusy) {
      if (this.#length > MOST_AHEAD_BYTES) this.socket.pause()
    } else if (!this.#hold()) {
      this.#handOver(this.#received())
    } else if (this.#length >= this.#needed) {
      this.#next()
    }
  }

  /** As Node does: who has no more to say gets no more answers. */
  readonly #onEnd = () => this.socket.end()

  /** Nothing has moved for long. Work on a request ends by itself; a client that does not read its answer does not. */
  readonly #onTimeout = () => {
    if (!this.#isBusy || this.socket.writableLength > 0) this.socket.destroy()
  }

  readonly #onClose = () => {
    clearTimeout(this.#arrival)
    this.#release()
    this.all.forget(this)
  }

  readonly #onLate = () => {
    this.#leave()
    const { socket, all } = this
    all.server.emit('clientError', Object.assign(new Error('too late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
    socket.resume().destroySoon()
  }

  /** Serves the first request of those that came, once it is complete. */
  #next(): void {
    const received = this.#received()
    const read = this.#readHead(received)
    if (read === undefined || read.head.contentLength > this.all.options.maxBodyBytes) {
      this.#handOver(received)
      return
    }
    const { bytes, head } = read
    const end = bytes.length + head.contentLength
    if (received.length < end) {
      this.#chunks = [received]
      this.#needed = end
      this.#arrival ??= setTimeout(this.#onLate, this.all.options.arrivalMs)
      if (!this.#hold()) this.#handOver(received)
      return
    }
    clearTimeout(this.#arrival)
    this.#arrival = undefined
    this.#chunks = received.length === end ? [] : [received.subarray(end)]
    this.#length = received.length - end
    this.#needed = 1
    this.#isBusy = true
    const { socket } = this
    this.all.options.serve({
      head,
      body: received.toString('utf8', bytes.length, end),
      socket,
      answer: (...answer) => this.#answer(head, ...answer),
    })
  }

  #received(): Buffer {
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#length)
  }

  /** Counts what came of a body that is not small. False where that is too much for now: Node's way is to refuse it. */
  #hold(): boolean {
    if (this.#needed <= SMALL_BYTES) return true
    try {
      this.all.options.buffered.take(this.#length - this.#held)
    } catch {
      return false
    }
    this.#held = this.#length
    return true
  }

  #release(): void {
    if (this.#held > 0) this.all.options.buffered.give(this.#held)
    this.#held = 0
  }

  #readHead(received: Buffer): ReadHead | undefined {
    const last = this.#lastHead
    if (last !== undefined && startsWith(received, last.bytes)) return last
    const end = received.indexOf('\r\n\r\n') + 4
    if (end < 4 || end > MOST_HEAD_BYTES) return undefined
    const head = readPlainHead(received.toString('latin1', 0, end))
    if (head === undefined) return undefined
    const read = { bytes: Buffer.from(received.subarray(0, end)), head }
    if (end <= MOST_REMEMBERED_BYTES) this.#lastHead = read
    return read
  }

  #answer(head: PlainHead, ...[status, headers, body, sent]: Parameters<PlainRequest['answer']>): void {
    this.#release()
    const { socket } = this
    if (socket.destroyed || socket.writableEnded) {
      sent?.()
      return
    }
    const { server } = this.all
    const isLast = head.close || !server.listening
    let [bytes, length] = [0, 0]
    for (const part of body) {
      bytes += Buffer.byteLength(part)
      length += part.length
    }
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
    for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`
    if (body.length > 0) text += `content-length: ${bytes}\r\n`
    text += `date: ${httpDate()}\r\nconnection: `
    text += isLast
      ? 'close\r\n\r\n'
      : `keep-alive\r\nkeep-alive: timeout=${Math.floor(server.keepAliveTimeout / 1000)}\r\n\r\n`
    // Nothing but ASCII is the same in both, and faster to write in the one.
    const encoding = bytes === length ? 'latin1' : 'utf8'
    if (body.length === 1 && typeof body[0] === 'string') {
      socket.write(text + body[0], encoding, sent)
    } else {
      socket.cork()
      socket.write(text, 'latin1')
      for (const part of body) socket.write(part, encoding)
      socket.write('', sent)
      socket.uncork()
    }
    if (isLast) socket.destroySoon()
    else if (socket.writableNeedDrain) socket.once('drain', this.#onAnswered)
    else this.#onAnswered()
  }

  readonly #onAnswered = () => {
    if (this.#length === 0) {
      this.#isBusy = false
      return
    }
    // Others take their turn first.
    setImmediate(() => {
      this.#isBusy = false
      if (this.socket.destroyed) return
      this.#next()
      this.socket.resume()
    })
  }

  #handOver(received: Buffer): void {
    this.#leave()
    this.all.handOver(this.socket, received)
  }

  /** Errors stay ignored: one that nobody listens for ends the process. */
  #leave(): void {
    this.#hasLeft = true
    clearTimeout(this.#arrival)
    this.#release()
    const { socket } = this
    socket.off('data', this.#onData).off('end', this.#onEnd).off('timeout', this.#onTimeout)
    socket.off('close', this.#onClose).setTimeout(0)
    this.all.forget(this)
  }
}

function ignore(): void {}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.length >= start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0
}

let second = 0
let date = ''

function httpDate(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) [second, date] = [now, new Date(now * 1000).toUTCString()]
  return date
}

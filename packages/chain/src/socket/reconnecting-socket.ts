import { WebSocket } from 'ws'

export interface ReconnectingSocketOptions {
  /** URL of the nth connection, counted from 0. */
  urlOf: (connection: number) => string
  handshakeTimeoutMs: number
  /** Most bytes of one message. */
  maxMessageBytes: number
  maxPauseMs: number
  /** A connection on which {@link ReconnectingSocket.noteData} is not called for this long is dropped. Called each time. */
  silenceMs: () => number
  /** What the connection is expected to send, for the reason of a loss. */
  awaited: string
  onOpen: (url: string) => void
  onMessage: (data: Buffer) => void
  /** Called once per connection that ends or fails. The next attempt starts automatically. */
  onLost: (url: string, reason: string, retryInMs: number) => void
}

const FIRST_PAUSE_MS = 100

/** A WebSocket client that reconnects until closed, after growing pauses with full jitter. */
export class ReconnectingSocket {
  readonly #options: ReconnectingSocketOptions
  #socket: WebSocket | undefined
  #timer: NodeJS.Timeout | undefined
  #reason = 'closed'
  #failures = 0

  constructor(options: ReconnectingSocketOptions) {
    this.#options = options
    this.#connect(0)
  }

  send(text: string): void {
    this.#socket?.send(text)
  }

  /** Reports that expected data arrived: resets the backoff and the silence timer. */
  noteData(): void {
    this.#failures = 0
    this.#awaitNext()
  }

  /** Closes this connection and opens another one. */
  giveUp(reason: string): void {
    this.#reason = reason
    this.#socket?.terminate()
  }

  close(): void {
    clearTimeout(this.#timer)
    const socket = this.#socket
    this.#socket = undefined
    socket?.terminate()
  }

  #connect(connection: number): void {
    const { urlOf, handshakeTimeoutMs, maxMessageBytes, maxPauseMs } = this.#options
    const url = urlOf(connection)
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      handshakeTimeout: handshakeTimeoutMs,
      maxPayload: maxMessageBytes,
    })
    this.#socket = socket
    this.#reason = 'closed'
    socket.on('open', () => {
      this.#awaitNext()
      this.#options.onOpen(url)
    })
    socket.on('message', (data) => {
      if (this.#socket === socket) this.#options.onMessage(data as Buffer)
    })
    socket.on('error', (error) => {
      if (this.#socket === socket) this.#reason = reasonOf(error)
    })
    socket.on('close', () => {
      if (this.#socket !== socket) return
      clearTimeout(this.#timer)
      const pauseMs = Math.random() * Math.min(maxPauseMs, FIRST_PAUSE_MS * 2 ** this.#failures)
      this.#failures = Math.min(this.#failures + 1, 16)
      this.#timer = setTimeout(() => this.#connect(connection + 1), pauseMs)
      this.#options.onLost(url, this.#reason, Math.round(pauseMs))
    })
  }

  #awaitNext(): void {
    clearTimeout(this.#timer)
    const silenceMs = this.#options.silenceMs()
    this.#timer = setTimeout(() => {
      this.giveUp(`no ${this.#options.awaited} for ${Math.round(silenceMs)} ms`)
    }, silenceMs)
  }
}

/** Omits the library's message if it may contain the URL, which may hold a key. */
function reasonOf(error: Error): string {
  if ('code' in error) return String(error.code)
  return /^Unexpected server response: \d{3}$/.test(error.message) ? error.message : 'the connection failed'
}

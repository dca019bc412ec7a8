import { WebSocket } from 'ws'

export interface NodeSubscriptionOptions {
  url: string
  /** Of `eth_subscribe`. */
  params: unknown[]
  /** A connection on which nothing comes for so long is given up; asked each time, as the chain's pace is learnt. */
  silenceMs: () => number
  /** What the node sent, as JSON-RPC has it. */
  onResult: (result: unknown) => void
  /** The node took the subscription: it tells of what follows. */
  onSubscribed: () => void
  /** Called once for each connection that ends, or can't be made; the next attempt follows by itself. */
  onLost: (reason: string) => void
}

const HANDSHAKE_MS = 5_000
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 10_000
/** A header or a transaction, with room to spare: block bodies are not sent here. */
const MOST_BYTES = 1024 * 1024

/** One subscription at a node until it is closed: it reconnects with growing pauses and full jitter. */
export class NodeSubscription {
  readonly #options: NodeSubscriptionOptions
  #socket: WebSocket | undefined
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #closed = false
  /** Whether the node took the subscription, on this connection. */
  #subscribed: string | undefined

  constructor(options: NodeSubscriptionOptions) {
    this.#options = options
    this.#connect()
  }

  get isSubscribed(): boolean {
    return this.#subscribed !== undefined
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#subscribed = undefined
    this.#socket?.terminate()
  }

  #connect(): void {
    const socket = new WebSocket(this.#options.url, { handshakeTimeout: HANDSHAKE_MS, maxPayload: MOST_BYTES })
    this.#socket = socket
    let reason = 'closed'
    const give = (why: string) => {
      reason = why
      socket.terminate()
    }
    const awaitNext = () => {
      clearTimeout(this.#timer)
      const silenceMs = this.#options.silenceMs()
      this.#timer = setTimeout(() => give(`no ${this.#options.params[0]} for ${Math.round(silenceMs)} ms`), silenceMs)
    }
    socket.on('open', () => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: this.#options.params }))
      awaitNext()
    })
    socket.on('message', (data) => {
      const message = parsed(String(data))
      if (message?.id === 1) {
        if (typeof message.result === 'string') {
          this.#subscribed = message.result
          this.#options.onSubscribed()
        } else give(`the node refuses eth_subscribe ${this.#options.params[0]}`)
        return
      }
      const { subscription, result } = message?.params ?? {}
      if (message?.method !== 'eth_subscription' || subscription !== this.#subscribed) return
      this.#failures = 0
      awaitNext()
      this.#options.onResult(result)
    })
    socket.on('error', (error) => {
      // The library's words name the URL, which may hold a key.
      reason = 'code' in error ? String(error.code) : 'the connection failed'
    })
    socket.on('close', () => {
      clearTimeout(this.#timer)
      this.#subscribed = undefined
      if (this.#closed) return
      const pause = Math.random() * Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures)
      this.#failures = Math.min(this.#failures + 1, 16)
      this.#timer = setTimeout(() => this.#connect(), pause)
      this.#options.onLost(reason)
    })
  }
}

interface Message {
  id?: unknown
  result?: unknown
  method?: unknown
  params?: { subscription?: unknown; result?: unknown }
}

function parsed(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null ? (message as Message) : undefined
  } catch {
    return undefined
  }
}

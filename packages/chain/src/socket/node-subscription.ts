import { ReconnectingSocket } from './reconnecting-socket.js'

export interface NodeSubscriptionOptions {
  url: string
  /** Parameters of `eth_subscribe`. */
  params: unknown[]
  /** A connection on which nothing arrives for this long is dropped. Called each time, because the chain's pace is learnt. */
  silenceMs: () => number
  /** The subscription's `result`, as the node sent it. */
  onResult: (result: unknown) => void
  /** The node confirmed the subscription. */
  onSubscribed: () => void
  /** Called once per connection that ends or fails. The next attempt starts automatically. */
  onLost: (reason: string) => void
}

const HANDSHAKE_MS = 5_000
const MAX_PAUSE_MS = 10_000
/** Enough for a header or a transaction; block bodies are not sent here. */
const MAX_BYTES = 1024 * 1024

/** One subscription at a node until closed. It is renewed on each new connection. */
export class NodeSubscription {
  readonly #options: NodeSubscriptionOptions
  readonly #socket: ReconnectingSocket
  /** Subscription id on this connection; undefined until the node confirmed it. */
  #subscribed: string | undefined

  constructor(options: NodeSubscriptionOptions) {
    this.#options = options
    const { url, params, silenceMs } = options
    this.#socket = new ReconnectingSocket({
      urlOf: () => url,
      handshakeTimeoutMs: HANDSHAKE_MS,
      maxMessageBytes: MAX_BYTES,
      maxPauseMs: MAX_PAUSE_MS,
      silenceMs,
      awaited: String(params[0]),
      onOpen: () => this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params })),
      onMessage: (data) => this.#hear(parsed(String(data))),
      onLost: (_url, reason) => {
        this.#subscribed = undefined
        options.onLost(reason)
      },
    })
  }

  get isSubscribed(): boolean {
    return this.#subscribed !== undefined
  }

  close(): void {
    this.#subscribed = undefined
    this.#socket.close()
  }

  #hear(message: Message | undefined): void {
    if (message?.id === 1) {
      if (typeof message.result === 'string') {
        this.#subscribed = message.result
        this.#options.onSubscribed()
      } else this.#socket.giveUp(`the node refuses eth_subscribe ${this.#options.params[0]}`)
      return
    }
    const { subscription, result } = message?.params ?? {}
    if (message?.method !== 'eth_subscription' || subscription !== this.#subscribed) return
    this.#socket.heard()
    this.#options.onResult(result)
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

import { ReconnectingSocket } from './reconnecting-socket.js'

export interface NodeSubscriptionOptions {
  url: string
  /** Parameters of `eth_subscribe`. */
  params: unknown[]
  /** The chain that the node must serve; undefined while it is unknown. A node that does not say which it serves is believed. */
  chainId: () => bigint | undefined
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
/** Ids of the calls sent on each connection. */
const SUBSCRIBE = 1
const CHAIN_ID = 2

/** One subscription at a node until closed. It is renewed on each new connection. */
export class NodeSubscription {
  readonly #options: NodeSubscriptionOptions
  readonly #socket: ReconnectingSocket
  /** Subscription id on this connection; undefined until the node confirmed it. */
  #subscribed: string | undefined
  /** The chain that the node of this connection serves, as it said. */
  #chainId: bigint | undefined

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
      onOpen: () => {
        this.#send(CHAIN_ID, 'eth_chainId', [])
        this.#send(SUBSCRIBE, 'eth_subscribe', params)
      },
      onMessage: (data) => this.#onText(parsed(String(data))),
      onLost: (_url, reason) => {
        this.#subscribed = undefined
        this.#chainId = undefined
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

  #send(id: number, method: string, params: unknown[]): void {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  }

  #onText(message: Message | undefined): void {
    if (message?.id === CHAIN_ID && typeof message.result === 'string' && /^0x[0-9a-f]{1,64}$/i.test(message.result))
      this.#chainId = BigInt(message.result)
    const wanted = this.#options.chainId()
    if (this.#chainId !== undefined && wanted !== undefined && this.#chainId !== wanted) {
      this.#subscribed = undefined
      this.#socket.giveUp(`serves chain ${this.#chainId}, not chain ${wanted}`)
      return
    }
    if (message?.id === SUBSCRIBE) {
      if (typeof message.result === 'string') {
        this.#subscribed = message.result
        this.#options.onSubscribed()
      } else this.#socket.giveUp(`the node refuses eth_subscribe ${this.#options.params[0]}`)
      return
    }
    const { subscription, result } = message?.params ?? {}
    if (message?.method !== 'eth_subscription' || subscription === undefined || subscription !== this.#subscribed)
      return
    this.#socket.noteData()
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

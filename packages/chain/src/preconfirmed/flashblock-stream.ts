import type { Relay, RelayMember } from '../follow/relay.js'
import { ReconnectingSocket } from '../socket/reconnecting-socket.js'
import { decodeFrame, type Flashblock } from './flashblock.js'

export interface FlashblockStreamOptions {
  /** Tried in turn: the next one follows when one is lost. */
  urls: readonly string[]
  /** A connection that stays without any flashblock for so long is given up, answered pings or not. */
  silenceMs: number
  /** Bound on one message, decompressed. */
  maxMessageBytes: number
  onFlashblock: (flashblock: Flashblock) => void
  /** Replicas that follow the same stream: frames are published as they came in. */
  relay?: Relay | undefined
  /** A message that is no flashblock. */
  onUndecodable: (reason: string) => void
  onConnected: (url: string) => void
  /** Called once for each connection that ends, or attempt that fails; the next one follows by itself. */
  onLost: (url: string, reason: string, retryInMs: number) => void
}

/** The source's name where another replica listens to the stream. */
const RELAYED = 'relay:'
const LONGEST_PAUSE_MS = 5_000
/** Messages that wait to be decoded; above it the oldest are dropped and show as a gap. */
const MAX_WAITING = 64

/**
 * Follows a Flashblocks WebSocket for as long as it is not closed: it reconnects with backoff and full jitter. Where another
 * replica does that for all, frames are taken from there, and the WebSocket is opened only while none come.
 */
export class FlashblockStream {
  #socket: ReconnectingSocket | undefined
  #closed = false
  #waiting: Buffer[] = []
  #decoding = false
  readonly #replica: RelayMember | undefined
  #relayedTimer: NodeJS.Timeout | undefined
  readonly #options: FlashblockStreamOptions

  constructor(options: FlashblockStreamOptions) {
    this.#options = options
    this.#replica = options.relay?.join({
      onMessage: (frame) => {
        this.#awaitRelayed()
        this.#enqueue(frame)
      },
      onChange: () => this.#changeSource(),
    })
    this.#changeSource()
  }

  close(): void {
    this.#closed = true
    this.#replica?.leave()
    clearTimeout(this.#relayedTimer)
    this.#waiting = []
    this.#disconnect()
  }

  #changeSource(): void {
    clearTimeout(this.#relayedTimer)
    if (this.#replica?.follows) this.#awaitRelayed()
    else if (this.#socket === undefined) this.#connect()
  }

  /** A replica publishes frames: the WebSocket is needed again only once it is silent. */
  #awaitRelayed(): void {
    if (this.#socket !== undefined) {
      this.#disconnect()
      this.#options.onConnected(RELAYED)
    }
    clearTimeout(this.#relayedTimer)
    this.#relayedTimer = setTimeout(() => {
      if (this.#socket === undefined) this.#connect()
    }, this.#options.silenceMs)
  }

  #disconnect(): void {
    this.#socket?.close()
    this.#socket = undefined
  }

  #connect(): void {
    const { urls, silenceMs, maxMessageBytes, onConnected, onLost } = this.#options
    const socket = new ReconnectingSocket({
      urlOf: (connection) => urls[connection % urls.length]!,
      handshakeTimeoutMs: silenceMs,
      maxMessageBytes,
      longestPauseMs: LONGEST_PAUSE_MS,
      silenceMs: () => silenceMs,
      awaited: 'flashblock',
      onOpen: onConnected,
      onMessage: (frame) => {
        socket.heard()
        this.#replica?.publish(frame)
        this.#enqueue(frame)
      },
      onLost,
    })
    this.#socket = socket
  }

  #enqueue(frame: Buffer): void {
    this.#waiting.push(frame)
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift()
    if (!this.#decoding) void this.#decodeInOrder()
  }

  async #decodeInOrder(): Promise<void> {
    this.#decoding = true
    for (let frame = this.#waiting.shift(); frame; frame = this.#waiting.shift()) {
      const decoded = await decodeFrame(frame, this.#options.maxMessageBytes).catch((error: Error) => error)
      if (this.#closed) break
      if (decoded instanceof Error) this.#options.onUndecodable(decoded.message)
      else this.#options.onFlashblock(decoded)
    }
    this.#decoding = false
  }
}

import { EventLoopTurn } from '@upfront/node'
import type { Relay, RelayMember } from '../follow/relay.js'
import { ReconnectingSocket } from '../socket/reconnecting-socket.js'
import { decodeFrame, type Flashblock } from './flashblock.js'

export interface FlashblockStreamOptions {
  /** URLs of one stream, tried in turn when a connection is lost. */
  urls: readonly string[]
  /** A connection without flashblocks for this long is dropped, even if it answers pings. */
  silenceMs: number
  /** Most bytes of one message, decompressed. */
  maxMessageBytes: number
  onFlashblock: (flashblock: Flashblock) => void
  /** Connects replicas that follow the same stream; frames are published as received. */
  relay?: Relay | undefined
  /** Called for a message that is not a flashblock. */
  onUndecodable: (reason: string) => void
  onConnected: (url: string) => void
  /** Called once per connection that ends or fails. The next attempt starts automatically. */
  onLost: (url: string, reason: string, retryInMs: number) => void
}

/** Source name if another replica listens to the stream. */
const RELAYED = 'relay:'
const MAX_PAUSE_MS = 5_000
/** Most messages queued for decoding. Beyond it the oldest are dropped, which shows as a gap. */
const MAX_WAITING = 64

/**
 * Follows a Flashblocks WebSocket until closed; reconnects with backoff and full jitter. If another replica leads, frames come from it, and
 * the WebSocket is opened only while none arrive.
 */
export class FlashblockStream {
  #socket: ReconnectingSocket | undefined
  #closed = false
  /** With the connection that each came from; none if it was relayed. */
  #waiting: { frame: Buffer; from?: ReconnectingSocket }[] = []
  #decoding = false
  readonly #replica: RelayMember | undefined
  #relayedTimer: NodeJS.Timeout | undefined
  readonly #options: FlashblockStreamOptions

  constructor(options: FlashblockStreamOptions) {
    this.#options = options
    this.#replica = options.relay?.join({
      onMessage: (frame) => {
        this.#awaitRelayed()
        this.#enqueue({ frame })
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

  /** A replica publishes frames. The WebSocket is opened only once they stop. */
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
      maxPauseMs: MAX_PAUSE_MS,
      silenceMs: () => silenceMs,
      awaited: 'flashblock',
      onOpen: onConnected,
      onMessage: (frame) => {
        this.#replica?.publish(frame)
        this.#enqueue({ frame, from: socket })
      },
      onLost,
    })
    this.#socket = socket
  }

  #enqueue(message: { frame: Buffer; from?: ReconnectingSocket }): void {
    this.#waiting.push(message)
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift()
    if (!this.#decoding) void this.#decodeInOrder()
  }

  async #decodeInOrder(): Promise<void> {
    this.#decoding = true
    const turn = new EventLoopTurn()
    for (let message = this.#waiting.shift(); message; message = this.#waiting.shift()) {
      await turn.yieldIfLong()
      const { frame, from } = message
      const decoded = await decodeFrame(frame, this.#options.maxMessageBytes).catch((error: Error) => error)
      if (this.#closed) break
      if (decoded instanceof Error) {
        this.#options.onUndecodable(decoded.message)
        continue
      }
      if (from === this.#socket) from?.noteData()
      this.#options.onFlashblock(decoded)
    }
    this.#decoding = false
  }
}

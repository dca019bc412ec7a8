import type { Relay, RelayMember } from '@upfront/head'
import { WebSocket } from 'ws'
import type { Flashblock } from './flashblock.js'
import { decodeFrame } from './flashblock-frame.js'

export interface FlashblockStreamOptions {
  /** Tried in turn: the next one follows when one is lost. */
  urls: string[]
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
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 5_000
/** Messages that wait to be decoded; above it the oldest are dropped and show as a gap. */
const MAX_WAITING = 64

/**
 * Follows a Flashblocks WebSocket for as long as it is not closed: it reconnects with backoff and full jitter. Where another
 * replica does that for all, frames are taken from there, and the WebSocket is opened only while none come.
 */
export class FlashblockStream {
  private socket: WebSocket | undefined
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private closed = false
  private waiting: Buffer[] = []
  private decoding = false
  private readonly replica: RelayMember | undefined
  private relayedTimer: NodeJS.Timeout | undefined

  constructor(private readonly options: FlashblockStreamOptions) {
    this.replica = options.relay?.join({
      onMessage: (frame) => {
        this.awaitRelayed()
        this.enqueue(frame)
      },
      onChange: () => this.changeSource(),
    })
    this.changeSource()
  }

  close(): void {
    this.closed = true
    this.replica?.leave()
    clearTimeout(this.relayedTimer)
    this.waiting = []
    this.disconnect()
  }

  private changeSource(): void {
    clearTimeout(this.relayedTimer)
    if (this.replica?.follows) this.awaitRelayed()
    else if (!this.isConnecting) this.connect(0)
  }

  /** A replica publishes frames: the WebSocket is needed again only once it is silent. */
  private awaitRelayed(): void {
    if (this.isConnecting) {
      this.disconnect()
      this.options.onConnected(RELAYED)
    }
    clearTimeout(this.relayedTimer)
    this.relayedTimer = setTimeout(() => {
      if (!this.isConnecting) this.connect(0)
    }, this.options.silenceMs)
  }

  private get isConnecting(): boolean {
    return this.socket !== undefined
  }

  private disconnect(): void {
    clearTimeout(this.timer)
    const { socket } = this
    this.socket = undefined
    socket?.terminate()
  }

  private connect(attempt: number): void {
    const url = this.options.urls[attempt % this.options.urls.length] as string
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      handshakeTimeout: this.options.silenceMs,
      maxPayload: this.options.maxMessageBytes,
    })
    this.socket = socket
    let reason = 'closed'
    const silence = () => {
      clearTimeout(this.timer)
      this.timer = setTimeout(() => {
        reason = `no flashblock for ${this.options.silenceMs} ms`
        socket.terminate()
      }, this.options.silenceMs)
    }
    socket.on('open', () => {
      this.options.onConnected(url)
      silence()
    })
    socket.on('message', (data) => {
      silence()
      this.failures = 0
      this.replica?.publish(data as Buffer)
      this.enqueue(data as Buffer)
    })
    socket.on('error', (error) => {
      reason = error.message
    })
    socket.on('close', () => {
      // It was given up for another source, or another connection.
      if (this.closed || this.socket !== socket) return
      clearTimeout(this.timer)
      const retryInMs = Math.random() * Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.failures)
      this.failures = Math.min(this.failures + 1, 16)
      this.options.onLost(url, reason, Math.round(retryInMs))
      this.timer = setTimeout(() => this.connect(attempt + 1), retryInMs)
    })
  }

  private enqueue(frame: Buffer): void {
    this.waiting.push(frame)
    if (this.waiting.length > MAX_WAITING) this.waiting.shift()
    if (!this.decoding) void this.decodeInOrder()
  }

  private async decodeInOrder(): Promise<void> {
    this.decoding = true
    for (let frame = this.waiting.shift(); frame; frame = this.waiting.shift()) {
      const decoded = await decodeFrame(frame, this.options.maxMessageBytes).catch((error: Error) => error)
      if (this.closed) break
      if (decoded instanceof Error) this.options.onUndecodable(decoded.message)
      else this.options.onFlashblock(decoded)
    }
    this.decoding = false
  }
}

import type { Relay } from '@upfront/head'
import { type CallLimits, Canceller } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import type { ExecutedPart } from '@upfront/simulation'
import type { CanonicalBlock } from './canonical-block.js'
import { FlashblockStream } from './flashblock-stream.js'
import { followHead } from './follow-head.js'
import { PreconfirmedChain, type PreconfirmedChainOptions } from './preconfirmed-chain.js'
import type { PreconfirmedEvent } from './preconfirmed-event.js'
import { newestBlock, type PreconfirmedSnapshot } from './snapshot.js'

export interface FlashblocksFollowerOptions extends Omit<PreconfirmedChainOptions, 'observe'> {
  /** WebSocket URLs, tried in turn. */
  urls: string[]
  silenceMs: number
  maxMessageBytes: number
  relay?: Relay | undefined
  latest: (limits: CallLimits) => Promise<CanonicalBlock>
  headPollMs: number
  headTimeoutMs: number
  observe: (event: FollowerEvent) => void
}

export type FollowerEvent =
  | PreconfirmedEvent
  | { kind: 'connected'; url: string }
  | { kind: 'lost'; url: string; reason: string; retryInMs: number }
  | { kind: 'undecodable'; reason: string }
  | { kind: 'head'; blockNumber: bigint; hash: string }
  | { kind: 'head-unknown'; reason: string }

/** For `/health/ready`: where `pending` stands just now. */
export interface FollowerStatus {
  connected: boolean
  head?: bigint
  /** The block under construction and its newest flashblock; absent where `pending` is the canonical head. */
  blockNumber?: bigint
  flashblock?: number
  /** Milliseconds since that flashblock came in. */
  ageMs?: number
}

/** Follows the stream and the node's head for as long as it is not closed. */
export class FlashblocksFollower {
  readonly #ended = new Canceller()
  #chain: PreconfirmedChain | undefined
  #stream: FlashblockStream | undefined
  #head: bigint | undefined
  #connected = false
  readonly #options: FlashblocksFollowerOptions

  constructor(options: FlashblocksFollowerOptions) {
    this.#options = options
    const { latest, headPollMs, headTimeoutMs, observe } = options
    void followHead(
      {
        latest,
        pollMs: headPollMs,
        timeoutMs: headTimeoutMs,
        onHead: (head) => this.#onHead(head),
        onError: (error) => observe({ kind: 'head-unknown', reason: error.message }),
      },
      this.#ended.signal,
    )
  }

  /** The newest snapshot; absent where `pending` is the canonical head. */
  current(): PreconfirmedSnapshot | undefined {
    return this.#chain?.current()
  }

  /** What was executed of the block that has become this header: see `PreconfirmedChain.executed`. */
  executed(header: BlockHeader, transactions: readonly Hash[]): ExecutedPart | undefined {
    return this.#chain?.executed(header, transactions)
  }

  status(): FollowerStatus {
    const snapshot = this.current()
    return {
      connected: this.#connected,
      ...(this.#head !== undefined && { head: this.#head }),
      ...(snapshot && {
        blockNumber: newestBlock(snapshot).environment.number,
        flashblock: newestBlock(snapshot).index,
        ageMs: Date.now() - snapshot.receivedAt,
      }),
    }
  }

  close(): void {
    this.#ended.cancel(new Error('closed'))
    this.#stream?.close()
    this.#chain?.close()
  }

  #onHead(head: CanonicalBlock): void {
    this.#head = head.header.number
    this.#options.observe({ kind: 'head', blockNumber: head.header.number, hash: head.header.hash })
    if (this.#chain) this.#chain.onHead(head)
    else {
      this.#chain = new PreconfirmedChain(this.#options, head)
      this.#stream = this.#connect(this.#chain)
    }
  }

  #connect(chain: PreconfirmedChain): FlashblockStream {
    const { urls, silenceMs, maxMessageBytes, observe, relay } = this.#options
    return new FlashblockStream({
      urls,
      relay,
      silenceMs,
      maxMessageBytes,
      onFlashblock: (flashblock) => chain.onFlashblock(flashblock),
      onUndecodable: (reason) => observe({ kind: 'undecodable', reason }),
      onConnected: (url) => {
        this.#connected = true
        observe({ kind: 'connected', url })
      },
      onLost: (url, reason, retryInMs) => {
        if (this.#connected) chain.onInterrupted()
        this.#connected = false
        observe({ kind: 'lost', url, reason, retryInMs })
      },
    })
  }
}

import type { BlockHeader, Hash } from '@upfront/protocol'
import type { ExecutedPart } from '@upfront/simulation'
import type { Relay } from '../follow/relay.js'
import type { CanonicalBlock } from './canonical-block.js'
import type { Flashblock } from './flashblock.js'
import { FlashblockStream } from './flashblock-stream.js'
import { PreconfirmedChain, type PreconfirmedChainOptions } from './preconfirmed-chain.js'
import type { PreconfirmedEvent } from './preconfirmed-event.js'
import { newestBlock, type PreconfirmedSnapshot } from './snapshot.js'

export interface FlashblocksFollowerOptions extends Omit<PreconfirmedChainOptions, 'observe'> {
  /** WebSocket URLs, tried in turn. */
  urls: string[]
  silenceMs: number
  maxMessageBytes: number
  relay?: Relay | undefined
  /** Called with the number of the block that one under construction stands on. */
  onParent: (number: bigint) => void
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

/** Follows the stream for as long as it is not closed, on the heads that it is told of. */
export class FlashblocksFollower {
  #chain: PreconfirmedChain | undefined
  #stream: FlashblockStream | undefined
  #head: bigint | undefined
  #connected = false
  readonly #options: FlashblocksFollowerOptions

  constructor(options: FlashblocksFollowerOptions) {
    this.#options = options
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
    this.#stream?.close()
    this.#chain?.close()
  }

  /** The node's head is another one. */
  onHead(head: CanonicalBlock): void {
    this.#head = head.header.number
    this.#options.observe({ kind: 'head', blockNumber: head.header.number, hash: head.header.hash })
    if (this.#chain) this.#chain.onHead(head)
    else {
      this.#chain = new PreconfirmedChain(this.#options, head)
      this.#stream = this.#connect(this.#chain)
    }
  }

  #onFlashblock(flashblock: Flashblock, chain: PreconfirmedChain): void {
    const { base, blockNumber } = flashblock
    if (base !== undefined) this.#options.onParent(blockNumber - 1n)
    chain.onFlashblock(flashblock)
  }

  #connect(chain: PreconfirmedChain): FlashblockStream {
    const { urls, silenceMs, maxMessageBytes, observe, relay } = this.#options
    return new FlashblockStream({
      urls,
      relay,
      silenceMs,
      maxMessageBytes,
      onFlashblock: (flashblock) => this.#onFlashblock(flashblock, chain),
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

import { catchError } from '@upfront/node'
import type { ChainRules } from '@upfront/simulation'
import { type FollowedBlock, transactionHashes } from '../blocks/followed-block.js'
import type { Chain } from '../chain.js'
import type { Relay } from '../follow/relay.js'
import type { CanonicalBlock, PreconfirmedEvent } from './flashblock-store.js'
import { FlashblockStream } from './flashblock-stream.js'
import { PreconfirmedChain, type PreconfirmedChainOptions } from './preconfirmed-chain.js'
import { newestBlock, type PreconfirmedSnapshot } from './snapshot.js'
import { type FollowerEvent, StreamFaults } from './stream-faults.js'

const RULES_TIMEOUT_MS = 5_000
const START_RETRY_MS = 1_000

export interface PreconfirmedOptions extends Omit<PreconfirmedChainOptions, 'observe' | 'onSnapshot' | 'rules'> {
  /** WebSocket URLs of one stream, tried in turn. Without them, `pending` is the node's pending block. */
  urls?: readonly string[] | undefined
  silenceMs: number
  maxMessageBytes: number
  relay?: Relay | undefined
  observe: (event: FollowerEvent) => void
}

/** State of `pending` for `/health/ready`. */
export interface FollowerStatus {
  connected: boolean
  head?: bigint
  /** The block under construction and its newest flashblock; absent if `pending` is the canonical head. */
  blockNumber?: bigint
  flashblock?: number
  /** Milliseconds since that flashblock arrived. */
  ageMs?: number
}

/** The snapshot that one request uses for `pending`, fixed when it first asks. */
export interface PendingView {
  snapshot?: PreconfirmedSnapshot | 'none' | undefined
}

/** The block under construction as a Flashblocks stream describes it, on top of the chain's heads. */
export class Preconfirmed {
  /** Recent faults of the stream. */
  readonly faults = new StreamFaults()
  #state: PreconfirmedChain | undefined
  #stream: FlashblockStream | undefined
  #head: bigint | undefined
  #connected = false
  #closed = false
  #retry: NodeJS.Timeout | undefined
  #leave: () => void = () => undefined
  readonly #listeners = new Set<(snapshot: PreconfirmedSnapshot) => void>()
  readonly #chain: Chain
  readonly #options: PreconfirmedOptions

  constructor(chain: Chain, options: PreconfirmedOptions) {
    this.#chain = chain
    this.#options = options
    chain.carrying.executedPart = (header, transactions) => this.#state?.executed(header, transactions)
  }

  /** Follows the stream, if one is configured, once the chain's rules are known. */
  async start(): Promise<void> {
    const { urls } = this.#options
    if (urls === undefined) return
    const rules = await catchError<ChainRules | Error>(
      () => this.#chain.rules({ signal: AbortSignal.timeout(RULES_TIMEOUT_MS) }),
      (error) => error as Error,
    )
    if (this.#closed) return
    if (rules instanceof Error) {
      this.#observe({ kind: 'head-unknown', reason: rules.message })
      this.#retry = setTimeout(() => void this.start(), START_RETRY_MS).unref()
      return
    }
    const { tip } = this.#chain
    if (tip !== undefined) this.#onHead(tip, false, rules, urls)
    this.#leave = this.#chain.listen(({ head, reorganised }) => this.#onHead(head, reorganised, rules, urls))
  }

  /** Whether a stream is configured. Without one, `pending` is the node's pending block. */
  get enabled(): boolean {
    return this.#options.urls !== undefined
  }

  /** The snapshot of `pending` for this request; absent if it is the canonical head. */
  snapshotFor(view: PendingView): PreconfirmedSnapshot | undefined {
    view.snapshot ??= this.#state?.current() ?? 'none'
    return view.snapshot === 'none' ? undefined : view.snapshot
  }

  /** Calls back with each new snapshot of `pending`. @returns a function that stops it */
  onSnapshot(listener: (snapshot: PreconfirmedSnapshot) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Absent if no stream is followed. */
  status(): FollowerStatus | undefined {
    if (!this.enabled) return undefined
    const snapshot = this.#state?.current()
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
    this.#closed = true
    clearTimeout(this.#retry)
    this.#leave()
    this.#stream?.close()
    this.#state?.close()
  }

  #observe(event: FollowerEvent): void {
    this.faults.note(event)
    this.#options.observe(event)
  }

  #onHead(block: FollowedBlock, reorganised: boolean, rules: ChainRules, urls: readonly string[]): void {
    const { header } = block
    const head = { header, transactionHashes: transactionHashes(block), reorganised }
    this.#head = header.number
    this.#observe({ kind: 'head', blockNumber: header.number, hash: header.hash })
    if (this.#state !== undefined) this.#state.onHead(head)
    else {
      this.#state = this.#stateOn(head, rules)
      this.#stream = this.#connect(this.#state, urls)
    }
  }

  #stateOn(head: CanonicalBlock, rules: ChainRules): PreconfirmedChain {
    const options = {
      ...this.#options,
      rules,
      observe: (event: PreconfirmedEvent) => this.#observe(event),
      onSnapshot: (snapshot: PreconfirmedSnapshot) => {
        for (const listener of this.#listeners) listener(snapshot)
      },
    }
    return new PreconfirmedChain(options, head)
  }

  #connect(state: PreconfirmedChain, urls: readonly string[]): FlashblockStream {
    const { silenceMs, maxMessageBytes, relay } = this.#options
    const { head } = this.#chain
    return new FlashblockStream({
      ...{ urls, relay, silenceMs, maxMessageBytes },
      onFlashblock: (flashblock) => {
        if (flashblock.base !== undefined) head.noteStreamedHead(flashblock.blockNumber - 1n)
        state.onFlashblock(flashblock)
      },
      onUndecodable: (reason) => this.#observe({ kind: 'undecodable', reason }),
      onConnected: (url) => this.#setConnected(true, { kind: 'connected', url }),
      onLost: (url, reason, retryInMs) => {
        if (this.#connected) state.onInterrupted()
        this.#setConnected(false, { kind: 'lost', url, reason, retryInMs })
      },
    })
  }

  #setConnected(isConnected: boolean, event: FollowerEvent): void {
    this.#connected = isConnected
    this.#observe(event)
    this.#chain.head.isStreamed = isConnected
  }
}

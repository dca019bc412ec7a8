import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { UpstreamClient } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import { LOGGER, type Logger } from '@upfront/service'
import { FollowedChain } from './followed-chain.js'

/** Blocks kept to compare with: a deeper reorganisation is announced from here on. */
const KEPT = 64
/** Logs kept of those blocks; older ones are not taken back. */
const MOST_LOGS = 50_000
const ASK_TIMEOUT_MS = 10_000
const ANSWER_BYTES = 32 * 1024 * 1024
/** While somebody listens the head is followed, though nobody asks for it. */
const KEEP_FOLLOWING_MS = 1_000

/** A log as the node gave it. */
export interface AnnouncedLog {
  address: string
  topics: string[]
  [field: string]: unknown
}

export interface AnnouncedBlock {
  hash: Hash
  parentHash: Hash
  number: bigint
  /** As geth announces it. */
  header: Record<string, unknown>
  /** Empty where nobody wanted logs when it was announced. */
  logs: readonly AnnouncedLog[]
}

export interface BlockListener {
  wantsLogs?: boolean
  /** Called with each block in the order of the chain. */
  added?(block: AnnouncedBlock): void
  /** Called with each block that a reorganisation takes back, the newest first. */
  removed?(block: AnnouncedBlock): void
}

/** What of a block is not in its header (`types.Header` of go-ethereum). */
const NOT_IN_HEADER = ['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty', 'calls']

/** The followed blocks one by one, none left out, and what a reorganisation takes back, for those who listen. */
@Injectable()
export class AnnouncedBlocks implements OnApplicationShutdown {
  private readonly listeners = new Set<BlockListener>()
  /** Newest last. */
  private chain: AnnouncedBlock[] = []
  private work: Promise<void> = Promise.resolve()
  private end: (() => void) | undefined

  constructor(
    private readonly followed: FollowedChain,
    private readonly client: UpstreamClient,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Listens from the node's head on. @returns what ends it @throws as `UpstreamClient.call` */
  async listen(listener: BlockListener): Promise<() => void> {
    if (this.end === undefined) this.start()
    this.listeners.add(listener)
    const leave = () => {
      this.listeners.delete(listener)
      if (this.listeners.size === 0) this.stop()
    }
    try {
      await this.inTurn(async () => {
        if (this.chain.length === 0) this.chain = [await this.block('eth_getBlockByNumber', 'latest')]
      })
    } catch (error) {
      leave()
      throw error
    }
    return leave
  }

  onApplicationShutdown(): void {
    this.stop()
  }

  private start(): void {
    const unlisten = this.followed.onHead(({ hash, number }) => {
      this.inTurn(() => this.advance(hash, number)).catch((error) =>
        this.logger.warn({ reason: String(error) }, 'a followed block could not be announced yet'),
      )
    })
    this.followed.head.current()
    const timer = setInterval(() => this.followed.head.current(), KEEP_FOLLOWING_MS).unref()
    this.end = () => {
      unlisten()
      clearInterval(timer)
    }
  }

  private stop(): void {
    this.end?.()
    this.end = undefined
    this.chain = []
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.work.then(work)
    this.work = done.catch(() => undefined)
    return done
  }

  /** Announces all blocks up to this one. */
  private async advance(hash: Hash, number: bigint): Promise<void> {
    const tip = this.chain.at(-1)
    // A lower head only lags: should it replace the tip, its child will tell.
    if (tip === undefined || number < tip.number || this.indexOf(hash) >= 0) return
    const oldest = this.chain[0]!
    const fresh: AnnouncedBlock[] = []
    for (let next = hash; this.indexOf(next) < 0 && fresh.length < KEPT; next = fresh[0]!.parentHash) {
      const block = await this.block('eth_getBlockByHash', next)
      if (block.number < oldest.number) break
      fresh.unshift(block)
    }
    if (this.end === undefined) return
    if ([...this.listeners].some(({ wantsLogs }) => wantsLogs))
      for (const block of fresh) block.logs = await this.logs(block)
    const fork = this.indexOf(fresh[0]!.parentHash)
    const connects = fork >= 0 || fresh[0]!.number <= oldest.number
    if (connects) for (const block of this.chain.slice(fork + 1).reverse()) this.tell((to) => to.removed?.(block))
    for (const block of fresh) this.tell((to) => to.added?.(block))
    this.chain = [...(connects ? this.chain.slice(0, fork + 1) : []), ...fresh].slice(-KEPT)
    let kept = 0
    for (const block of this.chain.toReversed()) {
      kept += block.logs.length
      if (kept > MOST_LOGS) block.logs = []
    }
  }

  private tell(about: (listener: BlockListener) => void): void {
    for (const listener of this.listeners) about(listener)
  }

  private indexOf(hash: Hash): number {
    return this.chain.findLastIndex((block) => block.hash === hash)
  }

  private block(method: string, which: string): Promise<AnnouncedBlock> {
    return this.ask(method, [which, false], (answer) => {
      if (typeof answer !== 'object' || answer === null) throw new Error(`${method}: the node does not serve ${which}`)
      const header = { ...answer } as Record<string, unknown>
      for (const name of NOT_IN_HEADER) delete header[name]
      const { hash, parentHash, number } = header as { hash: Hash; parentHash: Hash; number: string }
      return { hash, parentHash, number: BigInt(number), header, logs: [] }
    })
  }

  private async logs({ hash, header }: AnnouncedBlock): Promise<AnnouncedLog[]> {
    if (/^0x0*$/.test(String(header.logsBloom))) return []
    return this.ask('eth_getLogs', [{ blockHash: hash }], (answer) => {
      if (!Array.isArray(answer)) throw new Error('eth_getLogs: expected an array')
      return answer as AnnouncedLog[]
    })
  }

  private ask<T>(method: string, params: unknown[], decode: (answer: unknown) => T): Promise<T> {
    const limits = { signal: AbortSignal.timeout(ASK_TIMEOUT_MS), deadline: performance.now() + ASK_TIMEOUT_MS }
    return this.client.call({ method, params, decode, isShown: true, maxBytes: ANSWER_BYTES }, limits)
  }
}

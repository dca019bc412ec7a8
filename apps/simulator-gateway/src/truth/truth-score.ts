import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { type AnnouncedBlock, Chain, type FollowedBlock, indexesOf, Preconfirmed } from '@upfront/chain'
import { type Hash, RpcError, toQuantity } from '@upfront/protocol'
import { errorText } from '@upfront/service'
import { LRUCache } from 'lru-cache'
import { Environment } from '../environment/environment.js'
import { Turns } from '../limits/turns.js'
import { WaitingTransactions } from '../pending/waiting-transactions.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { type Explanation, explanationOf, isExplained, partsOf } from './explanation.js'
import { type Found, proofOf } from './proof.js'
import type { ChangingRun, Result, Run } from './run.js'
import { type Miss, ScoredDays } from './scored-days.js'
import {
  keepWaiting,
  type ScoredDay,
  ScoredTruth,
  type TruthMessage,
  type WaitingNews,
  workerNumber,
} from './scored-truth.js'
import type { SeenTransaction } from './seen-transaction.js'
import { SpareTime } from './spare-time.js'
import { TruthRunner } from './truth-runner.js'
import { TruthSources } from './truth-sources.js'

interface Prediction {
  seen: SeenTransaction & { call: NonNullable<SeenTransaction['call']> }
  run: Run
}

/** Most waiting predictions; also most waiting blocks and misses. */
const MAX_WAITING = 256
/** Hashes of seen transactions that are remembered. */
const MAX_SEEN = 50_000
/** Memory of all kept predictions. Those of mined transactions stay: a reorganisation may mine them again. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024
/** Approximate bytes of a fact, or of a transfer's description. */
const FACT_BYTES = 300
/** Recent blocks that are searched for a transaction mined while it was predicted. */
const MAX_BLOCKS = 16
const SEALED_TIMEOUT_MS = 5_000
const UNKNOWN: Explanation = { why: 'unknown', because: [] }

/**
 * For `TRUTH_SCORE=on`: predicts transactions when they are first seen, and compares with their outcome on chain. A wrong prediction is
 * explained by running the transaction again at the place where it was mined.
 */
@Injectable()
export class TruthScore extends ScoredTruth implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly days = new ScoredDays()
  private readonly seen = new LRUCache<Hash, true>({ max: MAX_SEEN })
  private readonly predictions = new LRUCache<Hash, Prediction>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: ({ seen, run }) =>
      JSON.stringify(seen.call).length + FACT_BYTES * (1 + run.facts.size + run.effects.moved.length),
  })
  private readonly spare: SpareTime
  private blocks: FollowedBlock[] = []
  private sources: TruthSources | undefined

  constructor(
    private readonly environment: Environment,
    private readonly runner: TruthRunner,
    private readonly chain: Chain,
    private readonly preconfirmed: Preconfirmed,
    private readonly telemetry: Telemetry,
    private readonly waiting: WaitingTransactions,
    turns: Turns,
  ) {
    super()
    this.spare = new SpareTime({
      idle: () => turns.idle(),
      maxWaiting: MAX_WAITING,
      onFailure: (error) => this.reportLeftOut('unanswered', errorText(error)),
    })
    telemetry.show('truth', () => this.spare)
  }

  override async of(day: string): Promise<ScoredDay | undefined> {
    return this.days.of(day)
  }

  onApplicationBootstrap(): void {
    if (workerNumber() !== undefined) process.on('message', this.answer)
    const { environment, chain, preconfirmed, telemetry } = this
    this.sources = new TruthSources({
      ...{ environment, chain, preconfirmed, telemetry },
      onSeen: (transaction) => this.onSeen(transaction),
      onBlock: (block) => void this.onBlock(block),
    })
  }

  onApplicationShutdown(): void {
    process.off('message', this.answer)
    this.sources?.end()
    this.spare.end()
  }

  /** Answers another process's question for a day. */
  private readonly answer = (message: TruthMessage): void => {
    if (message.kind !== 'truthAsked') return
    const { id, from: to, day } = message
    process.send?.({ kind: 'truthTold', id, to, found: this.days.of(day) ?? null } satisfies TruthMessage)
  }

  /** Keeps the news here and in the other processes. */
  private shareNews(news: WaitingNews): void {
    keepWaiting(this.waiting, news)
    if (workerNumber() !== undefined) process.send?.({ kind: 'waiting', news } satisfies TruthMessage)
  }

  private onSeen(transaction: SeenTransaction): void {
    if (this.seen.has(transaction.hash)) return
    this.seen.set(transaction.hash, true)
    this.days.count('seen')
    if (!this.spare.add(() => this.predict(transaction))) this.reportLeftOut('crowded')
  }

  private async predict(seen: SeenTransaction): Promise<void> {
    const call = seen.call ?? (await this.runner.call(seen))
    if (call === undefined || this.findBlockOf(seen.hash) !== undefined) return
    let found: ChangingRun
    try {
      found = await this.runner.run(call, seen.on)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return this.reportLeftOut('invalid', error.message)
    }
    const { changes, ...run } = found
    this.days.count('predicted')
    if (seen.source === 'waiting' && typeof call === 'object') this.shareNews({ hash: seen.hash, call, changes })
    this.predictions.set(seen.hash, { seen: { ...seen, call }, run })
    // It may have been mined during the prediction.
    const block = this.findBlockOf(seen.hash)
    if (block === undefined) return
    this.shareNews({ hash: seen.hash })
    this.judgeLater(block, [seen.hash])
  }

  private findBlockOf(hash: Hash): FollowedBlock | undefined {
    return this.blocks.find((block) => indexesOf(block).has(hash))
  }

  private async onBlock({ hash }: AnnouncedBlock): Promise<void> {
    const signal = AbortSignal.timeout(SEALED_TIMEOUT_MS)
    const block = await this.chain.sealed(hash, { signal }).catch(() => undefined)
    if (block === undefined) return
    this.blocks = [block, ...this.blocks].slice(0, MAX_BLOCKS)
    for (const hash of indexesOf(block).keys()) this.shareNews({ hash })
    const predicted = [...indexesOf(block).keys()].filter((each) => this.predictions.has(each))
    if (predicted.length > 0) this.judgeLater(block, predicted)
  }

  private judgeLater(block: FollowedBlock, transactions: readonly Hash[]): void {
    if (!this.spare.addUrgent(() => this.judge(block, transactions)))
      this.reportLeftOut('crowded', undefined, transactions.length)
  }

  private async judge(block: FollowedBlock, transactions: readonly Hash[]): Promise<void> {
    const indexes = indexesOf(block)
    const mined = await this.runner.mined(block, new Map(transactions.map((hash) => [hash, indexes.get(hash)!])))
    if (mined === undefined) this.reportLeftOut('unanswered', 'no receipts of the block', transactions.length)
    for (const [hash, result] of mined ?? []) {
      const prediction = this.predictions.get(hash)
      if (prediction === undefined) continue
      if (partsOf(prediction.run, result).differs.length === 0) this.conclude(block, hash, undefined)
      else if (!this.spare.addUrgent(() => this.explain(block, prediction, result)))
        this.conclude(block, hash, createMiss(block, prediction, result, UNKNOWN))
    }
  }

  private async explain(block: FollowedBlock, prediction: Prediction, mined: Result): Promise<void> {
    const { seen, run } = prediction
    const { hash: blockHash } = block.header
    const position = { blockHash, transactionIndex: indexesOf(block).get(seen.hash)! }
    let explanation: Explanation
    try {
      const found = explanationOf(run, await this.runner.run(seen.call, position), mined)
      const { changed: _, ...shown } = found
      const { on } = run
      const again = on && ((values: Found) => this.runner.run(seen.call, { blockHash: on }, values))
      explanation = isExplained(found.why) && again ? { ...shown, proof: await proofOf(found, mined, again) } : shown
    } catch {
      explanation = UNKNOWN
    }
    this.conclude(block, seen.hash, createMiss(block, prediction, mined, explanation))
  }

  private conclude({ header }: FollowedBlock, transaction: Hash, miss: Miss | undefined): void {
    this.days.judge(transaction, miss)
    this.telemetry.tell('truth.judged', { transaction, block: header.number, outcome: miss?.why ?? 'hit' })
  }

  private reportLeftOut(why: 'crowded' | 'invalid' | 'unanswered', reason?: string, count = 1): void {
    this.telemetry.tell('truth.left', { count, why, ...(reason !== undefined && { reason }) })
  }
}

function createMiss(
  { header }: FollowedBlock,
  { seen, run }: Prediction,
  mined: Result,
  explanation: Explanation,
): Miss {
  return {
    transaction: seen.hash,
    block: toQuantity(header.number),
    predictedIn: toQuantity(run.block),
    seen: seen.source,
    ...partsOf(run, mined),
    gas: { predicted: run.gasUsed.toString(), mined: mined.gasUsed.toString() },
    ...explanation,
  }
}

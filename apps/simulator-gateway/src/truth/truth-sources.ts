import {
  type AnnouncedBlock,
  type Chain,
  newestBlock,
  type Preconfirmed,
  type PreconfirmedSnapshot,
} from '@upfront/chain'
import { errorText } from '@upfront/service'
import type { Environment } from '../environment/environment.js'
import { nodeTransactions } from '../subscriptions/node-transactions.js'
import type { Telemetry } from '../telemetry/telemetry.js'
import { type SeenTransaction, waitingTransaction } from './seen-transaction.js'

interface TruthSourcesOptions {
  environment: Environment
  chain: Chain
  preconfirmed: Preconfirmed
  telemetry: Telemetry
  onSeen(transaction: SeenTransaction): void
  /** Called for each block in order, also for blocks of a new branch. */
  onBlock(block: AnnouncedBlock): void
}

/** Delay before a source that failed or ended is opened again. */
const RETRY_MS = 5_000

/** Sources of transactions: the node's pool, the Flashblocks stream, and blocks. */
export class TruthSources {
  readonly #options: TruthSourcesOptions
  readonly #leave = new Set<() => void>()
  #isOver = false

  constructor(options: TruthSourcesOptions) {
    this.#options = options
    const { environment, chain, preconfirmed, onSeen, onBlock } = options
    const waitsOn = preconfirmed.enabled ? 'pending' : 'latest'
    this.#keep('blocks', (ended) => chain.announced.listen({ added: onBlock, ended }))
    const urls = environment.UPSTREAM_WS_URL ?? []
    const transactions = nodeTransactions(urls, chain, [true])
    const told = (...texts: string[]) => {
      for (const text of texts) {
        const seen = waitingTransaction(JSON.parse(text), waitsOn)
        if (seen !== undefined) onSeen(seen)
      }
    }
    const nothing = () => undefined
    if (urls.length > 0)
      this.#keep('waiting transactions', async (ended) => (await transactions.listen(told, nothing, ended)) ?? nothing)
    if (preconfirmed.enabled) this.#leave.add(preconfirmed.onSnapshot(underConstruction(onSeen)))
  }

  end(): void {
    this.#isOver = true
    for (const leave of this.#leave) leave()
    this.#leave.clear()
  }

  #keep(what: string, open: (ended: (reason: string) => void) => Promise<() => void>): void {
    let leave: (() => void) | undefined
    const again = (reason: string) => {
      if (leave !== undefined) this.#leave.delete(leave)
      if (this.#isOver) return
      this.#options.telemetry.tell('truth.source', { what, lost: reason })
      setTimeout(() => !this.#isOver && this.#keep(what, open), RETRY_MS).unref()
    }
    open(again).then(
      (opened) => {
        leave = opened
        if (this.#isOver) return opened()
        this.#leave.add(opened)
        this.#options.telemetry.tell('truth.source', { what })
      },
      (error) => again(errorText(error)),
    )
  }
}

/** Reports the new transactions of each flashblock. */
function underConstruction(onSeen: (transaction: SeenTransaction) => void): (snapshot: PreconfirmedSnapshot) => void {
  let last: { payloadId: string; count: number } | undefined
  return (snapshot) => {
    const { payloadId, transactions } = newestBlock(snapshot)
    const known = last?.payloadId === payloadId ? last.count : 0
    last = { payloadId, count: transactions.length }
    for (const [index, { hash, raw }] of transactions.entries()) {
      if (index < known || raw.startsWith('0x7e')) continue
      const on = { blockNumber: 'pending', transactionIndex: index }
      onSeen({ hash, source: 'underConstruction', call: raw, on })
    }
  }
}

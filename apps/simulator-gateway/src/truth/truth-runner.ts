import { Injectable } from '@nestjs/common'
import { Chain, type FollowedBlock } from '@upfront/chain'
import { type UpstreamCall, UpstreamClient } from '@upfront/node'
import type { Hash, SimulatedCall } from '@upfront/protocol'
import { Environment } from '../environment/environment.js'
import { RequestView } from '../pending/request-view.js'
import { freeLimits, narrowed } from '../simulate/simulation-context.js'
import { Simulator } from '../simulate/simulator.js'
import type { Found } from './proof.js'
import { type ChangingRun, type Result, resultOf, runOf } from './run.js'
import { type SeenTransaction, waitingTransaction } from './seen-transaction.js'

/** Transactions with longer answers are not predicted. */
const ANSWER_BYTES = 512 * 1024
const TRANSACTION_BYTES = 1024 * 1024

/** Runs transactions like clients' simulations, and reads their outcome on chain. */
@Injectable()
export class TruthRunner {
  constructor(
    private readonly environment: Environment,
    private readonly simulator: Simulator,
    private readonly client: UpstreamClient,
    private readonly chain: Chain,
  ) {}

  /**
   * @param block parameter of `upfront_simulate`
   * @param found overrides of the block's own values
   * @throws RpcError if the transaction is not valid there, or what a request would fail with
   */
  async run(call: NonNullable<SeenTransaction['call']>, block: unknown, found?: Found): Promise<ChangingRun> {
    const { LIMITS } = this.environment
    const context = {
      dialect: 'ethereum' as const,
      signal: AbortSignal.timeout(LIMITS.timeoutMs),
      deadline: performance.now() + LIMITS.timeoutMs,
      view: new RequestView(),
      limits: narrowed(freeLimits(this.environment), ANSWER_BYTES),
    }
    const payload = {
      blockStateCalls: [{ calls: [call], ...found }],
      validation: true,
      depends: true,
      accessLists: true,
    }
    return this.simulator.simulate('upfront_simulate', [payload, block], context, runOf)
  }

  /** Undefined if the node no longer has the transaction. @throws UpstreamError */
  async call({ hash, on }: SeenTransaction): Promise<SeenTransaction['call']> {
    const asked: UpstreamCall<SeenTransaction | undefined> = {
      method: 'eth_getTransactionByHash',
      params: [hash],
      decode: (result) => waitingTransaction(result, on),
      maxBytes: TRANSACTION_BYTES,
      attempts: 1,
    }
    return (await this.client.call(asked, this.limits()))?.call
  }

  /**
   * Outcomes of a block's transactions, given their indices; undefined if the node has no receipts.
   * @throws the signal's reason
   */
  async mined(block: FollowedBlock, places: ReadonlyMap<Hash, number>): Promise<Map<Hash, Result> | undefined> {
    const receipts = await this.chain.receipts.of(block, this.limits())
    if (receipts === undefined) return undefined
    const results = new Map<Hash, Result>()
    for (const [hash, index] of places) {
      const { status, gasUsed, logs, transactionHash }: Receipt = JSON.parse(receipts[index]!)
      if (transactionHash === hash) results.set(hash, resultOf({ status, gasUsed, logs }))
    }
    return results
  }

  private limits(): { signal: AbortSignal; deadline: number } {
    const { timeoutMs } = this.environment.LIMITS
    return { signal: AbortSignal.timeout(timeoutMs), deadline: performance.now() + timeoutMs }
  }
}

type Receipt = Pick<SimulatedCall, 'status' | 'gasUsed' | 'logs'> & { transactionHash: Hash }

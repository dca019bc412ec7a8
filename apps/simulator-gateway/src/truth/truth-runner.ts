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

/** Of an answer: transactions that say more are not predicted. */
const ANSWER_BYTES = 512 * 1024
const TRANSACTION_BYTES = 1024 * 1024

/** Runs transactions as clients' simulations run, and reads what the chain made of them. */
@Injectable()
export class TruthRunner {
  constructor(
    private readonly environment: Environment,
    private readonly simulator: Simulator,
    private readonly client: UpstreamClient,
    private readonly chain: Chain,
  ) {}

  /**
   * @param block as `upfront_simulate` takes it
   * @param found values that it finds there instead of the block's own
   * @throws or rejects with RpcError where it is no valid transaction there, and what a request would fail with
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

  /** Undefined where the node does not have it any more. @throws UpstreamError */
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
   * What became of transactions of a block, by their places in it; undefined where the node does not say.
   * @throws or rejects with the signal's reason
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

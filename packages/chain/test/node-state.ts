import { CallQueue, type CancelSignal, passThrough, UpstreamClient, type UpstreamObserver } from '@upfront/node'
import {
  type ChainRules,
  type ChainRulesOptions,
  Driver,
  fetchChainRules,
  type PinnedBlock,
  pinnedState,
  ReadBudget,
  type SimulationPlan,
  type StateRead,
  type StateValue,
} from '@upfront/simulation'
import { ScriptedEngine } from '../../simulation/test/scripted-engine.js'
import { BlockResolver } from '../src/head/block-resolver.js'
import { NodeHead } from '../src/head/node-head.js'

const READ_TIMEOUT_MS = 12_000

export interface ReadLimits {
  signal?: CancelSignal
  /** Most values kept. */
  limit?: number
}

/** Everything between a plan and the state of a real node. */
export class NodeState {
  readonly client: UpstreamClient
  readonly resolver: BlockResolver
  readonly engine = new ScriptedEngine()
  readonly driver: Driver

  constructor(urls: string[], observer?: UpstreamObserver) {
    this.client = new UpstreamClient({ urls, ...(observer && { observer }) })
    const queue = new CallQueue(this.client)
    this.resolver = new BlockResolver(this.client, new NodeHead(this.client, queue))
    this.driver = new Driver(this.engine, this.client, queue)
  }

  rules(options: ChainRulesOptions = {}): Promise<ChainRules> {
    return fetchChainRules(this.client, options)
  }

  read(block: PinnedBlock, reads: readonly StateRead[], limits: ReadLimits = {}): Promise<StateValue[]> {
    return this.driver.read(reads, pinnedState(block), driveLimits(limits))
  }

  /** Reads like an engine that executes the plan and requests one batch after another. */
  async readFor(plan: SimulationPlan, block: PinnedBlock, ...batches: (readonly StateRead[])[]): Promise<void> {
    this.engine.script = batches
    await this.driver.simulate(plan, pinnedState(block), driveLimits())
  }

  async passThrough(method: string, ...params: unknown[]): Promise<unknown> {
    return JSON.parse(await passThrough(this.client, method, params, {}))
  }

  close(): Promise<void> {
    return this.client.close()
  }
}

export function driveLimits({ signal = new AbortController().signal, limit = 5_000 }: ReadLimits = {}) {
  return { budget: new ReadBudget(limit, performance.now() + READ_TIMEOUT_MS), cancellation: { signal } }
}

import { CallQueue, type UpstreamCall, UpstreamClient } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import {
  AccessLists,
  type CarryEvent,
  type ChainRules,
  Driver,
  fetchChainRules,
  pinnedState,
  ReadBudget,
  type SealedBlock,
  StateCarrier,
  type StateRead,
  type StateValue,
  sealedBlockFromRpc,
} from '@upfront/simulation'
import type { RevmEngine } from '../../src/revm-engine.js'

/** The call for a block with its transactions. */
export function sealedBlock(block: Hash | 'latest'): UpstreamCall<SealedBlock> {
  const method = block === 'latest' ? 'eth_getBlockByNumber' : 'eth_getBlockByHash'
  return { method, params: [block, true], decode: sealedBlockFromRpc, maxBytes: 2 ** 25 }
}

/** An engine that follows a node's blocks. */
export class Follower {
  private constructor(
    readonly events: readonly CarryEvent[],
    readonly engine: RevmEngine,
    readonly client: UpstreamClient,
    readonly driver: Driver,
    readonly rules: ChainRules,
    readonly carrier: StateCarrier,
  ) {}

  static async start(engine: RevmEngine, url: string): Promise<Follower> {
    const client = new UpstreamClient({ urls: [url], callTimeoutMs: 30_000 })
    const driver = new Driver(engine, client, new CallQueue(client))
    const rules = await fetchChainRules(client, {})
    const events: CarryEvent[] = []
    const carrier = new StateCarrier({
      ...{ rules, engine, driver, intervalMs: () => 60_000, accessLists: new AccessLists(client) },
      observe: (event) => events.push(event),
    })
    return new Follower(events, engine, client, driver, rules, carrier)
  }

  async fetched(block: Hash | 'latest'): Promise<SealedBlock> {
    return this.client.call(sealedBlock(block))
  }

  /** @throws if the block is not carried */
  async carry(block: SealedBlock, parent: SealedBlock): Promise<CarryEvent & { kind: 'carried' }> {
    await this.carrier.prepare(block, parent)
    const event = this.events.at(-1)
    if (event?.kind === 'carried' && event.header === block.header) return event
    throw new Error(`block ${block.header.number}: ${JSON.stringify(event, (_, value) => String(value))}`)
  }

  /** The node's values. */
  truth(reads: StateRead[], block: SealedBlock): Promise<StateValue[]> {
    return this.driver.readAtNode(reads, at(block), limits())
  }

  async close(): Promise<void> {
    this.carrier.close()
    await this.engine.close()
    await this.client.close()
  }
}

export function at(block: SealedBlock) {
  return pinnedState({ header: block.header, key: block.header.hash })
}

export function limits() {
  return {
    budget: new ReadBudget(100_000, performance.now() + 30_000),
    cancellation: { signal: new AbortController().signal },
  }
}

import { type CallLimits, isMethodMissing, type UpstreamCall, type UpstreamClient, UpstreamError } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import {
  AccessLists,
  type BlockCarrier,
  type CarryEvent,
  type CarryStatus,
  type ChainRules,
  type Driver,
  type ExecutedPart,
  type SealedBlock,
  StateCarrier,
} from '@upfront/simulation'
import type { HeaderCheck } from '../head/header-check.js'
import type { ServedRules } from '../head/served-rules.js'

const RULES_TIMEOUT_MS = 5_000
/** Nodes whose own methods change state outside blocks (`anvil_setBalance`, `hardhat_setCode`), which no header shows. */
const DEVELOPMENT_NODE = /^(anvil|hardhat|edr|ganache|ethereumjs)/i

export interface StateCarryingOptions {
  client: UpstreamClient
  driver: Driver
  engine: BlockCarrier
  /** `auto` carries state unless the node is a development node. With `on`, the operator vouches that only blocks change the state. */
  carry: 'auto' | 'on' | 'off'
  /** How often some carried values are compared with the node's. */
  auditEveryMs: number
  observe: (event: CarryEvent) => void
}

/** Carries the engine's state from block to block, provided that only blocks change it. */
export class StateCarrying {
  /** What was executed of a sealed block while it was streamed: it need not be executed again. Set by the stream's follower. */
  executedPart: (header: BlockHeader, transactions: readonly Hash[]) => ExecutedPart | undefined = () => undefined
  #carrier: { rules: ChainRules; carrier: StateCarrier } | undefined
  #closed = false
  /** Whether only blocks change the state; undefined until the node's client version is known. */
  #changesOnlyByBlocks: boolean | undefined
  readonly #options: StateCarryingOptions
  readonly #rules: ServedRules
  readonly #headers: HeaderCheck
  readonly #intervalMs: () => number

  /** @param intervalMs milliseconds between blocks, as learnt */
  constructor(options: StateCarryingOptions, rules: ServedRules, headers: HeaderCheck, intervalMs: () => number) {
    this.#options = options
    this.#rules = rules
    this.#headers = headers
    this.#intervalMs = intervalMs
  }

  /** Absent if no block was followed yet. */
  status(): CarryStatus | undefined {
    return this.#carrier?.carrier.status()
  }

  /** Why no state is carried; undefined if it may be. */
  obstacle(): string | undefined {
    const { carry } = this.#options
    if (carry === 'off') return 'CARRY_STATE=off'
    const isDevelopment = carry === 'auto' && this.#changesOnlyByBlocks === false
    return isDevelopment ? 'the node is a development node, whose state changes without blocks' : undefined
  }

  /** Whether only blocks change the state, according to the node's client version or the operator. */
  get changesOnlyByBlocks(): boolean {
    return this.#options.carry === 'on' || this.#changesOnlyByBlocks === true
  }

  /** Whether to execute blocks. False until `web3_clientVersion` is answered. A node without that method is not a development node. */
  async mayCarry(limits: CallLimits): Promise<boolean> {
    const { carry, client } = this.#options
    if (carry === 'on') return true
    const asked: UpstreamCall<boolean> = {
      method: 'web3_clientVersion',
      params: [],
      decode: (version) => typeof version === 'string' && !DEVELOPMENT_NODE.test(version),
      maxBytes: 1_024,
      attempts: 1,
    }
    this.#changesOnlyByBlocks ??= await client.call(asked, limits).catch((error) => {
      const isMissing = error instanceof UpstreamError && isMethodMissing(error.fault)
      return isMissing ? true : undefined
    })
    return carry === 'auto' && this.#changesOnlyByBlocks === true
  }

  /** Carries the parent's state over the block. */
  async prepare(block: SealedBlock, parent: BlockHeader | undefined): Promise<void> {
    const limits = { signal: AbortSignal.timeout(RULES_TIMEOUT_MS) }
    if (!(await this.mayCarry(limits))) return
    const { header } = block
    if (!this.#headers.isCarriable(header)) {
      const detail = 'its hash is not that of its fields'
      this.#options.observe({ kind: 'notCarried', header, reason: 'undecodable', detail, isFirst: false })
      return
    }
    const rules = await this.#rules.get(limits)
    if (this.#closed) return
    const isDistrusted = this.status()?.pace === 'distrusted'
    if (this.#carrier === undefined || (this.#carrier.rules !== rules && !isDistrusted)) {
      this.#carrier?.carrier.close()
      this.#carrier = { rules, carrier: this.#createCarrier(rules) }
    }
    await this.#carrier.carrier.prepare(block, parent && { header: parent })
  }

  close(): void {
    this.#closed = true
    this.#carrier?.carrier.close()
  }

  #createCarrier(rules: ChainRules): StateCarrier {
    const { engine, driver, client, carry, auditEveryMs, observe } = this.#options
    return new StateCarrier({
      ...{ rules, engine, driver, auditEveryMs, observe },
      auditsFirst: carry === 'auto',
      intervalMs: this.#intervalMs,
      accessLists: new AccessLists(client),
      executed: ({ header }, transactions) => this.executedPart(header, transactions),
    })
  }
}

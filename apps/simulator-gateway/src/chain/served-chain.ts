import { Inject, Injectable } from '@nestjs/common'
import { type Awaitable, type Cancellation, UpstreamClient, unlessAborted } from '@upfront/node'
import { LOGGER, type Logger } from '@upfront/service'
import { type ChainRules, fetchChainRules } from '@upfront/simulation'
import { Environment } from '../environment/environment.js'

/** A node may be upgraded, a fork may come: what was asked of it or inferred is looked at again. */
const RULES_LAST_MS = 600_000

/** The rules of the chain that the gateway serves: fetched once there is an upstream to ask, and again from time to time. */
@Injectable()
export class ServedChain {
  private known: ChainRules | undefined
  private staleAt = 0
  private fetching: Promise<ChainRules> | undefined

  constructor(
    private readonly client: UpstreamClient,
    private readonly environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @throws or rejects with UpstreamError, ChainMismatch, or the signal's reason */
  rules(cancellation: Cancellation): Awaitable<ChainRules> {
    if (this.known !== undefined) {
      // Where that fails, the known ones stay.
      if (performance.now() > this.staleAt) this.fetch().catch(() => undefined)
      return this.known
    }
    const { signal } = cancellation
    signal.throwIfAborted()
    return unlessAborted(this.fetch(), signal)
  }

  private fetch(): Promise<ChainRules> {
    const { BLOCK_TIME_SECONDS: seconds, CHAIN_GENESIS_FILE: genesis } = this.environment
    this.fetching ??= fetchChainRules(this.client, {
      ...(genesis === undefined ? {} : { genesis }),
      ...(seconds === undefined ? {} : { blockTime: BigInt(seconds) }),
    })
      .then((rules) => this.remember(rules))
      .finally(() => {
        this.fetching = undefined
      })
    return this.fetching
  }

  private remember(rules: ChainRules): ChainRules {
    const { chainId, stack, source, schedule } = rules
    if (this.known?.source !== source) {
      const forks = rules.forks.map(({ fork }) => fork)
      const entry = {
        chainId: String(chainId),
        stack,
        source,
        newestFork: forks.at(-1),
        blockTime: Number(schedule.blockTime),
      }
      this.logger.info(entry, `the rules of chain ${chainId} come from ${source}`)
      for (const caveat of rules.caveats ?? []) this.logger.warn({ chainId: String(chainId) }, caveat)
    }
    this.known = rules
    this.staleAt =
      performance.now() + (source === 'genesis-file' || source === 'known-chain' ? Infinity : RULES_LAST_MS)
    return rules
  }
}

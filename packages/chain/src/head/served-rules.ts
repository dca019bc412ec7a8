import { type Awaitable, type Cancellation, raceAbort, type UpstreamClient } from '@upfront/node'
import { type ChainRules, type ChainRulesOptions, fetchChainRules } from '@upfront/simulation'

/** How long fetched or inferred rules are used: the node may be upgraded, or a fork may activate. */
const RULES_LAST_MS = 600_000

/** The rules of the served chain, fetched once a node can be asked and refreshed from time to time. */
export class ServedRules {
  #known: ChainRules | undefined
  #staleAt = 0
  #fetching: Promise<ChainRules> | undefined
  readonly #client: UpstreamClient
  readonly #given: ChainRulesOptions
  readonly #learnt: (rules: ChainRules) => void

  /** @param learnt called with the first rules, and with rules from another source */
  constructor(client: UpstreamClient, given: ChainRulesOptions, learnt: (rules: ChainRules) => void) {
    this.#client = client
    this.#given = given
    this.#learnt = learnt
  }

  /** Undefined until they were fetched once. */
  get known(): ChainRules | undefined {
    return this.#known
  }

  /** @throws or rejects with UpstreamError, ChainMismatch, or the signal's reason */
  get(cancellation: Cancellation): Awaitable<ChainRules> {
    if (this.#known !== undefined) {
      // If that fails, the known rules are kept.
      if (performance.now() > this.#staleAt) this.#fetch().catch(() => undefined)
      return this.#known
    }
    const { signal } = cancellation
    signal.throwIfAborted()
    return raceAbort(this.#fetch(), signal)
  }

  #fetch(): Promise<ChainRules> {
    this.#fetching ??= fetchChainRules(this.#client, this.#given)
      .then((rules) => this.#remember(rules))
      .finally(() => {
        this.#fetching = undefined
      })
    return this.#fetching
  }

  #remember(rules: ChainRules): ChainRules {
    const { source } = rules
    if (this.#known?.source !== source) this.#learnt(rules)
    this.#known = rules
    this.#staleAt =
      performance.now() + (source === 'genesis-file' || source === 'known-chain' ? Infinity : RULES_LAST_MS)
    return rules
  }
}

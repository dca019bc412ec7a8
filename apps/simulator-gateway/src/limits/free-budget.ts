import { LRUCache } from 'lru-cache'
import { RateLimiterRes } from 'rate-limiter-flexible'
import type { FreeBudgetLimits } from '../environment/limits.js'
import { clientOf, NETWORK_MULTIPLE, networkOf } from './client-of.js'
import { type Counter, inMemory, type MakeCounter } from './counters.js'
import { EventLoopStall } from './event-loop-stall.js'
import { ClientGone, RateLimited } from './refused.js'

/** The holder of an API key or a token. */
export interface Holder {
  /** The key of budgets and turns. Never looks like an address. */
  client: string
  budget: FreeBudget
}

/** A holder, or an address as the socket or a trusted proxy reports it. */
export type Caller = string | Holder

/** The caller to count a payer's failed simulations by: they are not charged, so they count as free work. */
export function payerAsCaller(payer: string, budget: FreeBudget): Holder {
  return { client: `payer ${payer.toLowerCase()}`, budget }
}

/** The cost of served calls. */
export interface Cost {
  gasUsed?: bigint
  /** Of requests and answers together. */
  bytes?: number
  /** Values of state read from the node. */
  reads?: number
}

/** The read limit of a request, and the account of its cost. */
export interface RequestCosts {
  /** `upstreamReads`: most values of state that one simulation may read from the node. */
  readonly limits: { upstreamReads: number }
  /** The request is paid for. */
  readonly isSold?: boolean
  /** Counts the cost of work towards the free budget; does nothing if the request is paid for. */
  spend?(cost: Cost): void
}

const QUANTITY_NAMES = { gasUsed: 'gas', bytes: 'bytes of requests and answers', reads: 'values read from the node' }
type Quantity = keyof typeof QUANTITY_NAMES

const STALL = new EventLoopStall()

/** Most clients remembered as having spent their budget. */
const MAX_SPENT = 10_000

/**
 * Each client's free budget at `POST /`. Calls are counted before they are served; gas, bytes and reads after. A client that has used up a
 * minute's budget is refused until that minute is over.
 */
export class FreeBudget {
  readonly isOff: boolean
  readonly #callsPerSecond: number
  readonly #stall: Pick<EventLoopStall, 'waitedMs'>
  readonly #calls: Counter
  readonly #minute: Record<Quantity, Counter>
  readonly #spent = new LRUCache<string, Quantity>({ max: MAX_SPENT })

  constructor(
    limits: FreeBudgetLimits,
    counter: MakeCounter = inMemory,
    stall: Pick<EventLoopStall, 'waitedMs'> = STALL,
  ) {
    this.#stall = stall
    const { callsPerSecond, gasPerMinute, bytesPerMinute, readsPerMinute } = limits
    this.isOff = callsPerSecond === 0
    this.#callsPerSecond = callsPerSecond
    this.#calls = counter({ name: 'calls', points: callsPerSecond, duration: 1 })
    const minute = (name: Quantity, points: number) => counter({ name, points, duration: 60 })
    this.#minute = {
      gasUsed: minute('gasUsed', gasPerMinute),
      bytes: minute('bytes', bytesPerMinute),
      reads: minute('reads', readsPerMinute),
    }
  }

  /**
   * Counts one call.
   * @param caller undefined if the connection was reset
   * @throws RateLimited; ClientGone if `caller` is undefined
   */
  async take(caller: Caller | undefined): Promise<void> {
    if (caller === undefined) throw new ClientGone()
    const budget = this.#budgetOf(caller)
    if (!budget.isOff) await budget.#take(clientOf(caller))
  }

  /** Counts the other calls of a batch that was admitted. */
  async takeMore(caller: Caller, calls: number): Promise<void> {
    const budget = this.#budgetOf(caller)
    if (!budget.isOff && calls > 0) await budget.#calls.penalty(clientOf(caller), calls).catch(() => undefined)
  }

  /** Counts the cost of calls. Never refuses: the client's next call is refused instead. */
  spend(caller: Caller, cost: Cost): void {
    const budget = this.#budgetOf(caller)
    if (budget.isOff) return
    const client = clientOf(caller)
    for (const what of Object.keys(QUANTITY_NAMES) as Quantity[]) {
      const amount = Number(cost[what] ?? 0)
      if (amount <= 0) continue
      budget.#count(client, what, amount).catch(() => undefined)
      const network = networkOf(client)
      if (network !== undefined) budget.#count(network, what, amount, NETWORK_MULTIPLE).catch(() => undefined)
    }
  }

  /** @throws RateLimited if a minute's budget is used up */
  requireUnspent(caller: Caller): void {
    this.#budgetOf(caller).#requireUnspent(clientOf(caller))
  }

  /** Whether the client's next call will be refused because a minute's budget is used up. */
  isSpent(caller: Caller): boolean {
    return this.#budgetOf(caller).#spent.has(clientOf(caller))
  }

  /** Holders of API keys have their own budgets. */
  #budgetOf(caller: Caller): FreeBudget {
    return typeof caller === 'string' ? this : caller.budget
  }

  async #take(client: string): Promise<void> {
    try {
      await this.#calls.consume(client)
    } catch (refused) {
      // Any other error means that the counting process did not answer in time: the call is allowed.
      if (refused instanceof RateLimiterRes) this.#refuseUnlessStalled(refused)
    }
    this.#requireUnspent(client)
    const network = networkOf(client)
    if (network === undefined) return
    const counted = await this.#calls.penalty(network, 1).catch(() => undefined)
    if (counted !== undefined && counted.consumedPoints > this.#callsPerSecond)
      this.#refuseUnlessStalled(counted, NETWORK_MULTIPLE)
    this.#requireUnspent(network)
  }

  /** Allows more calls after the event loop was blocked: calls that waited were sent in earlier seconds. */
  #refuseUnlessStalled({ consumedPoints, msBeforeNext }: RateLimiterRes, clients = 1): void {
    const seconds = 1 + this.#stall.waitedMs / 1_000
    const most = clients * this.#callsPerSecond
    if (consumedPoints <= seconds * most) return
    throw new RateLimited(`more than ${most} calls in a second`, secondsOf(msBeforeNext), consumedPoints / most)
  }

  async #count(client: string, what: Quantity, amount: number, clients = 1): Promise<void> {
    const limiter = this.#minute[what]
    const { consumedPoints, msBeforeNext } = await limiter.penalty(client, amount)
    if (consumedPoints >= clients * limiter.points) this.#spent.set(client, what, { ttl: Math.max(1, msBeforeNext) })
  }

  #requireUnspent(client: string): void {
    const what = this.#spent.get(client)
    if (what === undefined) return
    const seconds = secondsOf(this.#spent.getRemainingTTL(client))
    const { points } = this.#minute[what]
    throw new RateLimited(`more than ${points} ${QUANTITY_NAMES[what]} in a minute: try again in ${seconds} s`, seconds)
  }
}

function secondsOf(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}

import type { CancelSignal } from '@upfront/node'
import type { Dialect } from '@upfront/protocol'
import { clientOf } from '../limits/client-of.js'
import type { Cost, FreeBudget } from '../limits/free-budget.js'
import { payerAsCaller } from '../limits/free-budget.js'
import { isLarge } from '../limits/memory.js'
import type { RequestLifetime } from '../limits/request-lifetime.js'
import type { RecordTurn } from '../limits/turns.js'
import { RequestView } from '../pending/request-view.js'
import type { RequestLimits } from '../simulate/simulation-context.js'
import type { Subscriber } from '../subscriptions/subscriber.js'
import type { Budget, Request } from './request.js'
import type { RpcContext } from './rpc-method.js'

interface RequestTurn {
  lifetime: RequestLifetime
  record: RecordTurn
}

/** An admitted request: its budget, its signal, and the accounts that it is charged to. */
export class RequestContext implements RpcContext {
  readonly deadline: number
  readonly requestId: string
  readonly client: string
  readonly dialect: Dialect
  readonly limits: RequestLimits
  readonly subscriber: Subscriber | undefined
  readonly view: RequestView
  readonly isLarge: boolean
  readonly isSold: boolean
  readonly simulated: RpcContext['simulated']
  /** Serves calls in place of their methods, if set. */
  serve: RpcContext['serve']
  readonly #request: Request
  readonly #turn: RequestTurn
  readonly #free: FreeBudget

  constructor(
    request: Request,
    turn: RequestTurn,
    free: FreeBudget,
    view = new RequestView(),
    simulated?: RpcContext['simulated'],
  ) {
    this.#request = request
    this.#turn = turn
    this.#free = free
    this.view = view
    this.simulated = simulated
    this.deadline = turn.lifetime.deadline
    this.requestId = request.id
    this.client = clientOf(request.caller)
    this.dialect = request.dialect
    this.limits = request.budget.limits
    this.subscriber = request.subscriber
    this.isLarge = isLarge(request.length)
    this.isSold = request.payer !== undefined
  }

  get signal(): CancelSignal {
    return this.#turn.lifetime.signal
  }

  /** The context of a free call in a paid request; it counts towards the free budget. */
  async freely(budget: Budget): Promise<RequestContext> {
    const request = { ...this.#request, payer: undefined, budget }
    await this.#free.take(request.caller)
    return new RequestContext(request, this.#turn, this.#free, this.view)
  }

  /** The context of a call that presents a simulation in another format. */
  telling(simulated: NonNullable<RpcContext['simulated']>): RequestContext {
    return new RequestContext(this.#request, this.#turn, this.#free, this.view, simulated)
  }

  inDialect(dialect: Dialect): RequestContext {
    return new RequestContext({ ...this.#request, dialect }, this.#turn, this.#free, this.view, this.simulated)
  }

  async admit(calls: number): Promise<void> {
    if (!this.isSold) await this.#free.takeMore(this.#request.caller, calls - 1)
  }

  record(answerBytes: number): Promise<() => void> {
    return this.#turn.record(answerBytes)
  }

  reserve(bytes: number): void {
    this.#turn.lifetime.reserve(bytes)
  }

  keep(bytes: number): void {
    this.#turn.lifetime.keep(bytes)
  }

  spend(cost: Cost): void {
    if (!this.isSold) this.#free.spend(this.#request.caller, cost)
  }

  /** Counts work towards the caller's free budget, and the payer's: once that is spent, the payer's next request is refused. */
  spendInVain(cost: Cost): void {
    const { caller, payer } = this.#request
    this.#free.spend(caller, cost)
    if (payer !== undefined) this.#free.spend(payerAsCaller(payer, this.#free), cost)
  }

  /** Gives back reserved memory once the answer is complete. */
  release(): void {
    this.#turn.lifetime.release()
  }
}

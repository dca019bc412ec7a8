import { Injectable } from '@nestjs/common'
import type { Awaitable } from '@upfront/node'
import { Environment } from '../environment/environment.js'
import { clientOf } from '../limits/client-of.js'
import { FreeBudget, payerAsCaller } from '../limits/free-budget.js'
import { Turns } from '../limits/turns.js'
import { freeLimits, paidLimits } from '../simulate/simulation-context.js'
import type { Budget, Request } from './request.js'
import { RequestContext } from './request-context.js'

/** Lets requests in, each in its turn and within its time: the one way from every entrance to work. */
@Injectable()
export class Admission {
  /** Of a request that is free. */
  readonly free: Budget
  /** Of one that is paid for. */
  readonly paid: Budget

  constructor(
    private readonly turns: Turns,
    private readonly counted: FreeBudget,
    environment: Environment,
  ) {
    const { timeoutMs, paidTimeoutMs } = environment.LIMITS
    this.free = { timeoutMs, limits: freeLimits(environment) }
    this.paid = { timeoutMs: paidTimeoutMs, limits: paidLimits(environment) }
  }

  /**
   * Has the work done once it is the request's turn, before this returns where nothing has to be waited for. Who pays takes turns with
   * others that pay, before all that do not.
   * @throws or rejects with Overloaded, RateLimited, ClientGone, what `work` throws
   */
  admit<T>(request: Request, work: (context: RequestContext) => Awaitable<T>): Awaitable<T> {
    const { payer, caller, connection, length, budget } = request
    // What is paid for is never refused for its number; work that a payer had done and that ended in errors is bounded as free work is.
    if (payer !== undefined) this.counted.refuseSpent(payerAsCaller(payer, this.counted))
    const client =
      payer === undefined ? { name: clientOf(caller), pays: false } : { name: payer.toLowerCase(), pays: true }
    return this.turns.take({ client, response: connection, timeoutMs: budget.timeoutMs, length }, (lifetime, record) =>
      work(new RequestContext(request, { lifetime, record }, this.counted)),
    )
  }
}

import { Injectable } from '@nestjs/common'
import type { Awaitable } from '@upfront/node'
import { Environment } from '../environment/environment.js'
import { clientOf } from '../limits/client-of.js'
import { FreeBudget, payerAsCaller } from '../limits/free-budget.js'
import { Turns } from '../limits/turns.js'
import { freeLimits, paidLimits } from '../simulate/simulation-context.js'
import type { Budget, Request } from './request.js'
import { RequestContext } from './request-context.js'

/** Admits requests from every entrance: each has to wait for its turn and ends in time. */
@Injectable()
export class Admission {
  /** Budget of a free request. */
  readonly free: Budget
  /** Budget of a paid request. */
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
   * Runs the work once it is the request's turn, synchronously if there is room now. Paid requests are served before free ones.
   * @throws or rejects with Overloaded, RateLimited, ClientGone or what `work` throws
   */
  admit<T>(request: Request, work: (context: RequestContext) => Awaitable<T>): Awaitable<T> {
    const { payer, caller, connection, length, budget } = request
    // Paid requests have no rate limit, but a payer's failed simulations are limited like free work.
    if (payer !== undefined) this.counted.requireUnspent(payerAsCaller(payer, this.counted))
    const client =
      payer === undefined ? { name: clientOf(caller), pays: false } : { name: payer.toLowerCase(), pays: true }
    return this.turns.take({ client, response: connection, timeoutMs: budget.timeoutMs, length }, (lifetime, record) =>
      work(new RequestContext(request, { lifetime, record }, this.counted)),
    )
  }
}

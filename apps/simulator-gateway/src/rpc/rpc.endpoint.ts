import { Injectable } from '@nestjs/common'
import { type Awaitable, andThen } from '@upfront/node'
import { Environment } from '../environment/environment.js'
import { clientOf } from '../limits/client-of.js'
import { FreeBudget, payerAsCaller } from '../limits/free-budget.js'
import { Turns } from '../limits/turns.js'
import type { RequestView } from '../pending/request-view.js'
import { lengthOf } from '../requests/answer-sender.js'
import type { Budget, Request } from '../requests/request.js'
import { RequestContext } from '../requests/request-context.js'
import type { RpcAnswer } from '../requests/rpc-method.js'
import { freeLimits, paidLimits } from '../simulate/simulation-context.js'
import { RpcService } from './rpc.service.js'

/** Serves requests from every entrance, each in its turn and within its time. */
@Injectable()
export class RpcEndpoint {
  /** Budget of a free request. */
  readonly free: Budget
  /** Budget of a paid request. */
  readonly paid: Budget

  constructor(
    private readonly rpc: RpcService,
    private readonly turns: Turns,
    private readonly counted: FreeBudget,
    environment: Environment,
  ) {
    const { timeoutMs, paidTimeoutMs } = environment.LIMITS
    this.free = { timeoutMs, limits: freeLimits(environment) }
    this.paid = { timeoutMs: paidTimeoutMs, limits: paidLimits(environment) }
  }

  /**
   * Serves a body (UTF-8 if it is bytes) and passes the answer to `send`, synchronously if there is nothing to wait for.
   * @param begin receives the context before the first call is served
   * @throws or rejects with what refuses the request as a whole, or what `send` throws
   */
  serve(
    request: Request,
    body: string | Buffer,
    send: (answer: RpcAnswer, view: RequestView, context: RequestContext) => void,
    begin?: (context: RequestContext) => void,
  ): Awaitable<void> {
    return this.admit(request, (context) => {
      begin?.(context)
      return andThen(this.rpc.answer(body, context), (answer) => {
        context.spend({ bytes: body.length + lengthOf(answer.body ?? []) })
        context.release()
        send(answer, context.view, context)
      })
    })
  }

  /**
   * Serves one call.
   * @returns the answer, a JSON-RPC response with id 1
   * @throws or rejects with what refuses the request as a whole
   */
  async call(request: Request, method: string, params: unknown): Promise<{ answer: RpcAnswer; view: RequestView }> {
    return this.admit(request, async (context) => {
      const answer = await this.rpc.answerEntry({ kind: 'request', id: 1, method, params }, context)
      context.spend({ bytes: request.length + lengthOf(answer.body ?? []) })
      return { answer, view: context.view }
    })
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

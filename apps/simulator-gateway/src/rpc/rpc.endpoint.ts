import type { Writable } from 'node:stream'
import { Injectable } from '@nestjs/common'
import { type Awaitable, andThen, type CancelSignal } from '@upfront/node'
import type { Dialect } from '@upfront/protocol'
import { Environment } from '../environment/environment.js'
import type { Caller } from '../limits/caller.js'
import { clientOf } from '../limits/client-of.js'
import { type Cost, FreeBudget } from '../limits/free-budget.js'
import { isLarge } from '../limits/memory.js'
import type { RequestLifetime } from '../limits/request-lifetime.js'
import { Turns } from '../limits/turns.js'
import { RequestView } from '../pending/request-view.js'
import type { Subscriber } from '../subscriptions/subscriber.js'
import { type RpcAnswer, RpcService } from './rpc.service.js'
import type { RpcContext } from './rpc-method.js'

/** A JSON-RPC body that has arrived: by `POST /`, or as a message over WebSocket. */
export interface RpcRequest {
  id: string
  caller: Caller
  dialect: Dialect
  /** In UTF-8 where it is bytes. */
  body: string | Buffer
  subscriber?: Subscriber
}

/** Serves a JSON-RPC body in its turn and within its time, however it was received. */
@Injectable()
export class RpcEndpoint {
  constructor(
    private readonly rpc: RpcService,
    private readonly turns: Turns,
    private readonly free: FreeBudget,
    private readonly environment: Environment,
  ) {}

  /**
   * Calls `send` with the answer, before it returns where nothing has to be waited for.
   * @throws or rejects with what refuses the request as a whole
   */
  serve(
    request: RpcRequest,
    response: Writable,
    send: (answer: RpcAnswer, view: RequestView) => void,
  ): Awaitable<void> {
    const { caller, body } = request
    const client = { name: clientOf(caller), pays: false }
    const asked = { client, response, timeoutMs: this.environment.REQUEST_TIMEOUT_MS, length: body.length }
    return this.turns.take(asked, (lifetime) => {
      const context = new CallContext(request, lifetime, this.free)
      return andThen(this.rpc.answer(body, context), (answer) => {
        this.free.spend(caller, { bytes: body.length + lengthOf(answer) })
        lifetime.release()
        send(answer, context.view)
      })
    })
  }
}

class CallContext implements RpcContext {
  readonly deadline: number
  readonly requestId: string
  readonly dialect: Dialect
  readonly subscriber: Subscriber | undefined
  readonly view = new RequestView()
  readonly isLarge: boolean
  readonly #request: RpcRequest
  readonly #lifetime: RequestLifetime
  readonly #free: FreeBudget

  constructor(request: RpcRequest, lifetime: RequestLifetime, free: FreeBudget) {
    this.#request = request
    this.#lifetime = lifetime
    this.#free = free
    this.deadline = lifetime.deadline
    this.requestId = request.id
    this.dialect = request.dialect
    this.subscriber = request.subscriber
    this.isLarge = isLarge(request.body.length)
  }

  get signal(): CancelSignal {
    return this.#lifetime.signal
  }

  admit(calls: number): Promise<void> {
    return this.#free.takeMore(this.#request.caller, calls - 1)
  }

  reserve(bytes: number): void {
    this.#lifetime.reserve(bytes)
  }

  spend(cost: Cost): void {
    this.#free.spend(this.#request.caller, cost)
  }
}

function lengthOf({ body = [] }: RpcAnswer): number {
  return body.reduce((length, part) => length + part.length, 0)
}

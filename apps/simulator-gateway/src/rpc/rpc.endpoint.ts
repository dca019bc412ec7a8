import type { Writable } from 'node:stream'
import { Injectable } from '@nestjs/common'
import { type Awaitable, andThen, type CancelSignal } from '@upfront/node'
import type { Dialect } from '@upfront/protocol'
import { Environment } from '../environment.js'
import { Admission } from '../http/admission.js'
import { FreeRateLimit } from '../http/free-rate-limit.js'
import { RequestLifetime } from '../http/request-lifetime.js'
import { RequestView } from '../pending/request-view.js'
import { type RpcAnswer, RpcService } from './rpc.service.js'
import type { RpcContext } from './rpc-method.js'

/** A `POST /`, read. */
export interface RpcRequest {
  id: string
  ip: string
  dialect: Dialect
  body: string
}

/** `POST /`. No controller: Nest's promises around a handler cost more than a small simulation. */
@Injectable()
export class RpcEndpoint {
  constructor(
    private readonly rpc: RpcService,
    private readonly admission: Admission,
    private readonly freeRate: FreeRateLimit,
    private readonly environment: Environment,
  ) {}

  /**
   * Has the answer sent; at once where it is there at once.
   * @throws or rejects with what refuses the request as a whole
   */
  serve(
    request: RpcRequest,
    response: Writable,
    send: (answer: RpcAnswer, view: RequestView) => void,
  ): Awaitable<void> {
    const lifetime = new RequestLifetime(response, this.environment.REQUEST_TIMEOUT_MS)
    return lastly(
      () =>
        andThen(this.admission.enter(lifetime), () =>
          lastly(
            () => {
              const context = new CallContext(request, lifetime, this.freeRate)
              return andThen(this.rpc.answer(request.body, context), (answer) => send(answer, context.view))
            },
            () => this.admission.leave(),
          ),
        ),
      () => lifetime.end(),
    )
  }
}

class CallContext implements RpcContext {
  readonly deadline: number
  readonly requestId: string
  readonly dialect: Dialect
  readonly view = new RequestView()

  constructor(
    private readonly request: RpcRequest,
    private readonly lifetime: RequestLifetime,
    private readonly freeRate: FreeRateLimit,
  ) {
    this.deadline = lifetime.deadline
    this.requestId = request.id
    this.dialect = request.dialect
  }

  get signal(): CancelSignal {
    return this.lifetime.signal
  }

  admit(calls: number): Promise<void> {
    return this.freeRate.takeMore(this.request.ip, calls - 1)
  }
}

/** What `work` comes to, `end` after it, however it ends. */
function lastly<T>(work: () => Awaitable<T>, end: () => void): Awaitable<T> {
  let value: Awaitable<T>
  try {
    value = work()
  } catch (thrown) {
    end()
    throw thrown
  }
  if (value instanceof Promise) return value.finally(end)
  end()
  return value
}

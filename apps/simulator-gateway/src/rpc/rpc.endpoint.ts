import { Injectable } from '@nestjs/common'
import type { Dialect } from '@upfront/protocol'
import { type Awaitable, andThen } from '@upfront/simulation'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment.js'
import { Admission } from '../http/admission.js'
import { BufferedBytes } from '../http/buffered-bytes.js'
import { FreeRateLimit } from '../http/free-rate-limit.js'
import { RequestLifetime } from '../http/request-lifetime.js'
import { RequestView } from '../pending/request-view.js'
import { dialectOf } from './dialect.js'
import { RpcService } from './rpc.service.js'
import type { RpcContext } from './rpc-method.js'
import { sendAnswer } from './send-answer.js'

/** `POST /`. A route of Fastify's own, not a controller: Nest's promises around a handler cost more than a small simulation. */
@Injectable()
export class RpcEndpoint {
  constructor(
    private readonly rpc: RpcService,
    private readonly admission: Admission,
    private readonly freeRate: FreeRateLimit,
    private readonly buffered: BufferedBytes,
    private readonly environment: Environment,
  ) {}

  /** Sends the answer; at once where it is there at once. @throws or rejects with what refuses the request as a whole */
  serve(request: FastifyRequest, reply: FastifyReply): Awaitable<void> {
    const dialect = dialectOf(request.query, this.environment.DIALECT)
    const lifetime = new RequestLifetime(reply.raw, this.environment.REQUEST_TIMEOUT_MS)
    return lastly(
      () =>
        andThen(this.admission.enter(lifetime), () =>
          lastly(
            () => {
              const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
              const view = new RequestView()
              const admit = (calls: number) => this.freeRate.takeMore(request.ip, calls - 1)
              const context = new CallContext(lifetime, request.id, dialect, view, admit)
              return andThen(this.rpc.answer(body, context), (answer) => sendAnswer(reply, answer, view, this.buffered))
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

  constructor(
    private readonly lifetime: RequestLifetime,
    readonly requestId: string,
    readonly dialect: Dialect,
    readonly view: RequestView,
    readonly admit: (calls: number) => Promise<void>,
  ) {
    this.deadline = lifetime.deadline
  }

  get signal(): AbortSignal {
    return this.lifetime.signal
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

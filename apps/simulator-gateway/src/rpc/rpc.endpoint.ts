import type { Writable } from 'node:stream'
import { Injectable } from '@nestjs/common'
import { type Awaitable, andThen, type CancelSignal } from '@upfront/node'
import type { Dialect } from '@upfront/protocol'
import { Metrics } from '@upfront/service'
import { Environment } from '../environment/environment.js'
import type { Caller } from '../limits/caller.js'
import { clientOf } from '../limits/client-of.js'
import { type Cost, FreeBudget } from '../limits/free-budget.js'
import { Memory } from '../limits/memory.js'
import { MemoryGuard } from '../limits/memory-guard.js'
import { RequestLifetime } from '../limits/request-lifetime.js'
import { RequestQueue } from '../limits/request-queue.js'
import { RequestView } from '../pending/request-view.js'
import { type RpcAnswer, RpcService } from './rpc.service.js'
import type { RpcContext } from './rpc-method.js'
import type { Subscriber } from './subscriber.js'

/** Of a body while it is worked on: its text, values, plan. */
const WORKING_COPIES = 6

/** Parsing and checking a longer body takes milliseconds of the event loop. */
const LARGE_BODY_BYTES = 65_536

/** Whether work on the body is done in several turns of the event loop. */
export function isLarge(body: string): boolean {
  return body.length > LARGE_BODY_BYTES
}

/** A JSON-RPC body that has arrived: by `POST /`, or as a message over WebSocket. */
export interface RpcRequest {
  id: string
  caller: Caller
  dialect: Dialect
  body: string
  subscriber?: Subscriber
}

/** Serves a JSON-RPC body in its turn and within its time, however it was received. */
@Injectable()
export class RpcEndpoint {
  constructor(
    private readonly rpc: RpcService,
    private readonly queue: RequestQueue,
    private readonly free: FreeBudget,
    readonly memory: Memory,
    readonly guard: MemoryGuard,
    private readonly environment: Environment,
    metrics: Metrics,
  ) {
    metrics.gauge('upfront_requests_in_flight', 'Requests being worked on', () => queue.inFlight)
    metrics.counter(
      'upfront_requests_ended_for_memory_total',
      'Requests ended because memory was short',
      () => guard.ended,
    )
    metrics.gauge('upfront_requests_waiting', 'Requests that wait their turn', () => queue.queued)
  }

  /**
   * Calls `send` with the answer, before it returns where nothing has to be waited for.
   * @throws or rejects with what refuses the request as a whole
   */
  serve(
    request: RpcRequest,
    response: Writable,
    send: (answer: RpcAnswer, view: RequestView) => void,
  ): Awaitable<void> {
    const client = { name: clientOf(request.caller), pays: false }
    const lifetime = new RequestLifetime(response, this.environment.REQUEST_TIMEOUT_MS, client.name, this)
    return lastly(
      () =>
        andThen(this.queue.enter(client, lifetime), () =>
          lastly(
            () => {
              lifetime.begin()
              if (isLarge(request.body)) lifetime.reserve(WORKING_COPIES * request.body.length)
              const context = new CallContext(request, lifetime, this.free)
              return andThen(this.rpc.answer(request.body, context), (answer) => {
                this.free.spend(request.caller, { bytes: request.body.length + lengthOf(answer) })
                lifetime.release()
                send(answer, context.view)
              })
            },
            () => this.queue.leave(client),
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
  readonly subscriber: Subscriber | undefined
  readonly view = new RequestView()
  readonly isLarge: boolean

  constructor(
    private readonly request: RpcRequest,
    private readonly lifetime: RequestLifetime,
    private readonly free: FreeBudget,
  ) {
    this.deadline = lifetime.deadline
    this.requestId = request.id
    this.dialect = request.dialect
    this.subscriber = request.subscriber
    this.isLarge = isLarge(request.body)
  }

  get signal(): CancelSignal {
    return this.lifetime.signal
  }

  admit(calls: number): Promise<void> {
    return this.free.takeMore(this.request.caller, calls - 1)
  }

  reserve(bytes: number): void {
    this.lifetime.reserve(bytes)
  }

  spend(cost: Cost): void {
    this.free.spend(this.request.caller, cost)
  }
}

function lengthOf({ body = [] }: RpcAnswer): number {
  return body.reduce((length, part) => length + part.length, 0)
}

/** Runs `work`, then `end`, whether it succeeds or not. */
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

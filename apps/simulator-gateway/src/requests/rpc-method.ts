import type { Awaitable, CancelSignal } from '@upfront/node'
import type { Dialect, JsonText } from '@upfront/protocol'
import type { Cost } from '../limits/free-budget.js'
import type { RequestView } from '../pending/request-view.js'
import type { RequestLimits } from '../simulate/simulator.js'
import type { Subscriber } from '../subscriptions/subscriber.js'
import type { Beside } from './beside.js'

/** What a method may know of the request that called it. */
export interface RpcContext {
  /** Aborts when the request's time is over or its client has gone. Made when it is first asked for. */
  readonly signal: CancelSignal
  /** When `signal` aborts for want of time, by `performance.now()`. */
  deadline: number
  /** For the log. */
  requestId: string
  /** Who asks: see `clientOf`. */
  readonly client: string
  dialect: Dialect
  view: RequestView
  /** What one call may use. */
  readonly limits: RequestLimits
  /** The request is paid for. */
  readonly isSold?: boolean
  /** Serves a call in the place of its method, where the request as a whole decides how. */
  serve?: ((name: string, method: RpcMethod, params: unknown) => Awaitable<RpcResult>) | undefined
  /** Where the request came over a connection that takes notifications. */
  subscriber?: Subscriber | undefined
  /** Called with the number of calls in a batch before the first of them is served. */
  admit?(calls: number): Promise<void>
  /** Sees to it that work under way has so much memory, until the request is answered. @throws Overloaded where there is none */
  reserve?(bytes: number): void
  /** Takes memory for an answer that waits for others. @throws Overloaded where there is none */
  keep?(bytes: number): void
  /** The body is so large that working on it takes several turns of the event loop. */
  isLarge?: boolean
  /** Counts what a call took, where that is free of charge. */
  spend?(cost: Cost): void
  /** Counts what work took that ended in an error, and so is never charged. */
  spendInVain?(cost: Cost): void
}

/** JSON text of a result; of a call that is paid for, also of what stands beside it: the charge, by name. */
export type RpcResult = JsonText | { result: JsonText; beside: Beside }

/**
 * Serves one call.
 * @throws RpcError
 */
export type RpcMethod = (params: unknown, context: RpcContext) => Awaitable<RpcResult>

/** Injection token of the methods served at `POST /`: `ReadonlyMap<string, RpcMethod>`. */
export const RPC_METHODS = Symbol('RPC_METHODS')

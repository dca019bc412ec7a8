import type { Awaitable } from '@upfront/node'
import type { Dialect, Inspection, JsonText } from '@upfront/protocol'
import type { Simulation, SimulationAnswer } from '@upfront/simulation'
import type { SimulationContext } from '../simulate/simulation-context.js'
import type { Subscriber } from '../subscriptions/subscriber.js'

/** An `upfront_simulate` that another method asked for. */
export interface ShownSimulation {
  params: unknown[]
  answer: SimulationAnswer
  simulation: Simulation
  inspection: Inspection | undefined
}

/** What a method may know of the request that called it. */
export interface RpcContext extends SimulationContext {
  /** For the log. */
  requestId: string
  /** Who asks: see `clientOf`. */
  readonly client: string
  /** Is told of the simulation that a method shows in another shape, before it shows it. */
  readonly simulated?: ((shown: ShownSimulation) => Awaitable<void>) | undefined
  /** The same request, its answers in this dialect's words. */
  inDialect(dialect: Dialect): SimulationContext
  /** Serves a call in the place of its method, where the request as a whole decides how. */
  serve?: ((name: string, method: RpcMethod, params: unknown) => Awaitable<RpcResult>) | undefined
  /** Where the request came over a connection that takes notifications. */
  subscriber?: Subscriber | undefined
  /** Called with the number of calls in a batch before the first of them is served. */
  admit?(calls: number): Promise<void>
  /** Takes memory for an answer that waits for others. @throws Overloaded where there is none */
  keep?(bytes: number): void
}

/** What stands beside a result, by name: charge, receipt, witness. */
export type Beside = Readonly<Record<string, JsonText>>

/** The fields, each with a comma before it. */
export function besideJson(beside: Beside): JsonText[] {
  return Object.entries(beside).flatMap(([name, json]) => [`,"${name}":`, json])
}

/** The answer to a body. */
export interface RpcAnswer {
  status: number
  /** JSON, in parts that are to be sent one after another; absent where the request held nothing but notifications. */
  body?: readonly JsonText[]
}

/** JSON of a result; of a call that is paid for, also of what stands beside it: the charge, by name. */
export type RpcResult = Json | BilledResult

/** A long one in parts. */
type Json = JsonText | JsonText[]

interface BilledResult {
  result: Json
  beside: Beside
}

export function isBilled(result: RpcResult): result is BilledResult {
  return typeof result === 'object' && 'beside' in result
}

/**
 * Serves one call.
 * @throws RpcError
 */
export type RpcMethod = (params: unknown, context: RpcContext) => Awaitable<RpcResult>

/** Injection token of the methods served at `POST /`: `ReadonlyMap<string, RpcMethod>`. */
export const RPC_METHODS = Symbol('RPC_METHODS')

import type { Awaitable } from '@upfront/node'
import type { Dialect, Inspection, JsonText } from '@upfront/protocol'
import type { Simulation, SimulationAnswer } from '@upfront/simulation'
import type { SimulationContext } from '../simulate/simulation-context.js'
import type { Subscriber } from '../subscriptions/subscriber.js'

/** An `upfront_simulate` that another method presents. */
export interface ShownSimulation {
  params: unknown[]
  answer: SimulationAnswer
  simulation: Simulation
  inspection: Inspection | undefined
}

/** The request's context, as a method sees it. */
export interface RpcContext extends SimulationContext {
  /** ID for the log. */
  requestId: string
  /** The client, as returned by `clientOf`. */
  readonly client: string
  /** Receives the simulation that a method presents in another format, before the method presents it. */
  readonly simulated?: ((shown: ShownSimulation) => Awaitable<void>) | undefined
  /** The same request with answers in `dialect`. */
  inDialect(dialect: Dialect): SimulationContext
  /** Serves a call in place of its method, if set. */
  serve?: ((name: string, method: RpcMethod, params: unknown) => Awaitable<RpcResult>) | undefined
  /** Set if the connection can receive notifications. */
  subscriber?: Subscriber | undefined
  /** Called with the number of calls of a batch before the first is served. */
  admit?(calls: number): Promise<void>
  /** Counts memory of an answer that waits for others. @throws Overloaded if there is none */
  keep?(bytes: number): void
}

/** Fields next to a result, by name: charge, receipt, witness. */
export type ExtraFields = Readonly<Record<string, JsonText>>

/** The fields as JSON, each preceded by a comma. */
export function extraFieldsJson(extraFields: ExtraFields): JsonText[] {
  return Object.entries(extraFields).flatMap(([name, json]) => [`,"${name}":`, json])
}

/** The answer to a body. */
export interface RpcAnswer {
  status: number
  /** JSON in parts, to be sent in order; absent if the request held only notifications. */
  body?: readonly JsonText[]
}

/** A result as JSON; for a paid call, with the fields next to it. */
export type RpcResult = Json | BilledResult

/** JSON, in parts if it is long. */
type Json = JsonText | JsonText[]

interface BilledResult {
  result: Json
  extraFields: ExtraFields
}

export function isBilled(result: RpcResult): result is BilledResult {
  return typeof result === 'object' && 'extraFields' in result
}

/**
 * Serves one call.
 * @throws RpcError
 */
export type RpcMethod = (params: unknown, context: RpcContext) => Awaitable<RpcResult>

/** Injection token of the methods of `POST /`: `ReadonlyMap<string, RpcMethod>`. */
export const RPC_METHODS = Symbol('RPC_METHODS')

import type { Chain, Preconfirmed } from '@upfront/chain'
import type { UpstreamClient } from '@upfront/node'
import {
  type BlockHeader,
  type BlockParameter,
  DecodeError,
  decodeBlockNumber,
  decodeBlockParameter,
  decodeBytes32,
  decodeStateParameter,
  Place,
  type StateParameter,
  toQuantity,
} from '@upfront/protocol'
import type { Driver } from '@upfront/simulation'
import type { SimulationBases } from '../pending/simulation-bases.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { ReadDeadline } from '../simulate/simulation-context.js'
import type { Simulator } from '../simulate/simulator.js'

/** Dependencies of the reading methods. */
export interface Reading {
  bases: SimulationBases
  chain: Chain
  preconfirmed: Preconfirmed
  driver: Driver
  simulator: Simulator
  client: UpstreamClient
  /** Transactions are sent through this gateway: the node's pool may know a higher nonce than the state. */
  sends: boolean
}

/**
 * Replaces the block parameter at `at` by the number of the request's head, if it means the head and the request is a batch or names
 * `pending`. Otherwise returns the parameters unchanged.
 * @throws DecodeError; or like `SimulationBases.head`
 */
export async function onHeadOf(
  { bases }: Reading,
  params: unknown[],
  at: number,
  context: RpcContext,
): Promise<unknown[]> {
  const block = blockParameter(params, at)
  const isUnsealed = block.kind === 'tag' && block.tag === 'pending'
  if (!bases.isHead(block) || !(context.view.holdsSeveral || isUnsealed)) return params
  const head = await bases.head(context.view, timeOf(context))
  bases.noteBase(head, context.view)
  return params.with(at, toQuantity(head.header.number))
}

/** The parameters with `latest` as the block parameter if it is absent. */
export function defaultToLatest(params: unknown[], at: number): unknown[] {
  return params[at] == null ? [...params.slice(0, at), 'latest', ...params.slice(at + 1)] : params
}

/** A number or tag. @throws DecodeError with the place */
export function blockNumberParameter(params: unknown[], at: number): BlockParameter {
  return decodeBlockNumber(params[at], new Place(undefined, `params[${at}]`))
}

/** A hash. @throws DecodeError with the place */
export function blockHashParameter(params: unknown[], at: number): BlockParameter {
  return { kind: 'hash', hash: decodeBytes32(params[at], undefined, `params[${at}]`), requireCanonical: false }
}

/** @throws DecodeError with the place */
export function blockParameter(params: unknown[], at: number): BlockParameter {
  return decodeBlockParameter(params[at], new Place(undefined, `params[${at}]`))
}

/** Like `blockParameter`, or a position in a block. */
export function stateParameter(params: unknown[], at: number): StateParameter {
  return decodeStateParameter(params[at], new Place(undefined, `params[${at}]`))
}

/** @throws DecodeError if they are not a list */
export function listOf(params: unknown): unknown[] {
  if (!Array.isArray(params)) throw new DecodeError(undefined, 'params: expected an array')
  return params
}

/** Methods that override some of `passed`, each with access to the method it overrides. */
export class Overriding {
  readonly methods = new Map<string, RpcMethod>()
  readonly #passed: ReadonlyMap<string, RpcMethod>

  constructor(passed: ReadonlyMap<string, RpcMethod>) {
    this.#passed = passed
  }

  /** Does nothing if `passed` has no method of this name. */
  serve(name: string, method: (pass: RpcMethod) => RpcMethod): void {
    const pass = this.#passed.get(name)
    if (pass !== undefined) this.methods.set(name, method(pass))
  }
}

/** Headers up to `newest`, oldest first; undefined if any is not kept. @param isFirst whether the header is where they begin */
export function headersTo(
  { chain }: Reading,
  newest: BlockHeader,
  isFirst: (oldest: BlockHeader, count: number) => boolean,
) {
  const headers = [newest]
  while (!isFirst(headers[0]!, headers.length)) {
    const parent = chain.head.header(headers[0]!.parentHash)
    if (parent === undefined) return undefined
    headers.unshift(parent)
  }
  return headers
}

/** A method that takes its parameters as a list. */
export type ListMethod = (params: unknown[], context: RpcContext) => ReturnType<RpcMethod>

/** As an `RpcMethod`: throws DecodeError if the parameters are not a list. */
export function decoding(method: ListMethod): RpcMethod {
  return async (params, context) => method(listOf(params), context)
}

/** The part of a request's time in which the node may be asked. */
export function timeOf(context: RpcContext): ReadDeadline {
  return new ReadDeadline(context)
}

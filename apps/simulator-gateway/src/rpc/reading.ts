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

/** What reads of the chain are answered with. */
export interface Reading {
  bases: SimulationBases
  chain: Chain
  preconfirmed: Preconfirmed
  driver: Driver
  simulator: Simulator
  client: UpstreamClient
  /** Transactions are sent through this gateway: the node's pool may know more of a sender than the state. */
  sends: boolean
}

/**
 * Where the parameter at this place means the head and the request holds several calls, the call as it is passed on: on the head that the others
 * stand on. Any other call as it is.
 * @throws DecodeError; or as `SimulationBases.head`
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
  bases.standsOn(head, context.view)
  return params.with(at, toQuantity(head.header.number))
}

/** The parameters with `latest` where the block at this place is left out. */
export function orLatest(params: unknown[], at: number): unknown[] {
  return params[at] == null ? [...params.slice(0, at), 'latest', ...params.slice(at + 1)] : params
}

/** A number or a tag alone. @throws DecodeError with the place */
export function blockNumberParameter(params: unknown[], at: number): BlockParameter {
  return decodeBlockNumber(params[at], new Place(undefined, `params[${at}]`))
}

/** A hash alone. @throws DecodeError with the place */
export function blockHashParameter(params: unknown[], at: number): BlockParameter {
  return { kind: 'hash', hash: decodeBytes32(params[at], undefined, `params[${at}]`), requireCanonical: false }
}

/** @throws DecodeError with the place */
export function blockParameter(params: unknown[], at: number): BlockParameter {
  return decodeBlockParameter(params[at], new Place(undefined, `params[${at}]`))
}

/** As `blockParameter`, or a position in a block. */
export function stateParameter(params: unknown[], at: number): StateParameter {
  return decodeStateParameter(params[at], new Place(undefined, `params[${at}]`))
}

/** @throws DecodeError where they are no list */
export function listOf(params: unknown): unknown[] {
  if (!Array.isArray(params)) throw new DecodeError(undefined, 'params: expected an array')
  return params
}

/** The methods that answer in the place of some of `passed`, each made of the one that it stands for. */
export class Overriding {
  readonly methods = new Map<string, RpcMethod>()
  readonly #passed: ReadonlyMap<string, RpcMethod>

  constructor(passed: ReadonlyMap<string, RpcMethod>) {
    this.#passed = passed
  }

  /** Nothing where `passed` has no method of this name. */
  serve(name: string, method: (pass: RpcMethod) => RpcMethod): void {
    const pass = this.#passed.get(name)
    if (pass !== undefined) this.methods.set(name, method(pass))
  }
}

/** The headers from the first down to `newest`, oldest first; undefined where they are not all kept. @param isFirst whether it is the first */
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

/** A method whose parameters are a list. */
export type ListMethod = (params: unknown[], context: RpcContext) => ReturnType<RpcMethod>

/** As `RpcMethod`: parameters that are no list are a DecodeError. */
export function decoding(method: ListMethod): RpcMethod {
  return async (params, context) => method(listOf(params), context)
}

/** The part of a request's time in which the node is asked. */
export function timeOf(context: RpcContext): ReadDeadline {
  return new ReadDeadline(context)
}

import type { Abi } from 'viem'
import { abiOf } from '../request/abi.js'
import type { Draft } from '../request/draft.js'
import { type Call, callsBefore, payloadOf, type SimulatePayload } from '../request/payload.js'
import { call, RpcFault, type RpcReply } from '../rpc.js'
import { asAccountCall } from './account-call.js'
import type { SimulatedBlock, SimulatedCall } from './outcome.js'

/** A draft as it was sent. */
export interface Request {
  draft: Draft
  payload: SimulatePayload
  abi: Abi
  /** How many calls of each block are not shown. */
  before: number[]
  /** The states asked for; the first is shown. */
  states: string[]
}

/** What became of it on one state. */
export type Outcome =
  | { kind: 'refused'; code: number; why: string }
  | { kind: 'answered'; blocks: SimulatedBlock[]; state: string | undefined; link: string | undefined }

/** Asked for beside the outcome of each call. */
const SHOWN = { trace: true, stateDiff: true, assetChanges: true, decode: true, outcome: true, link: true }

/** @throws DraftError */
export function requestOf(draft: Draft): Request {
  return {
    draft,
    payload: payloadOf(draft),
    abi: abiOf(draft.abi),
    before: callsBefore(draft),
    // `pending` is the newest; where it differs from `latest` the page says so.
    states: draft.state === '' ? ['pending', 'latest'] : [draft.state],
  }
}

/** Simulates a request on one state. Refusals are outcomes. */
export async function outcomeOn(request: Request, state: string, signal?: AbortSignal): Promise<Outcome> {
  try {
    const { result, link, state: stoodOn } = await simulate(request, state, SHOWN, signal)
    return {
      kind: 'answered',
      blocks: result.map((block, at) => shownOf(block, request.before[at] ?? 0)),
      state: stoodOn,
      link,
    }
  } catch (error) {
    if (signal?.aborted) throw error
    return { kind: 'refused', code: error instanceof RpcFault ? error.code : 0, why: (error as Error).message }
  }
}

/** The blocks of the request: those that fill gaps between their numbers have no calls, and are left out. @throws RpcFault */
export async function simulate(
  { payload, abi }: Pick<Request, 'payload' | 'abi'>,
  state: string,
  shown: object,
  signal?: AbortSignal,
): Promise<RpcReply<SimulatedBlock[]> & { link: string | undefined }> {
  const params = [{ ...payload, ...shown, ...(abi.length > 0 && { abi }) }, state]
  const answer = await call<SimulatedBlock[]>('upfront_simulate', params, signal)
  const link = answer.result[0]?.link
  return { ...answer, link, result: answer.result.filter(({ calls }) => calls.length > 0) }
}

function shownOf(block: SimulatedBlock, before: number): SimulatedBlock {
  return { ...block, calls: block.calls.slice(before).map(asAccountCall) }
}

/** The calls of all blocks in their order, each with what was asked. */
export function callsOf(
  { payload, before }: Request,
  blocks: readonly SimulatedBlock[],
): { asked: Call; outcome: SimulatedCall }[] {
  return blocks.flatMap(({ calls }, at) =>
    calls.map((outcome, index) => ({
      asked: payload.blockStateCalls[at]?.calls[(before[at] ?? 0) + index] ?? {},
      outcome,
    })),
  )
}

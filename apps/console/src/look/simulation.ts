import type { Abi } from 'viem'
import { abiOf } from '../request/abi.js'
import type { Draft } from '../request/draft.js'
import { type Call, callsBefore, payloadOf, type SimulatePayload } from '../request/payload.js'
import { call, RpcFault, type RpcReply } from '../rpc.js'
import { asAccountCall } from './account-call.js'
import type { SimulatedBlock, SimulatedCall } from './answer.js'
import { answersAfter, askedAfter, questionsAfter, type TokenAnswers } from './token-questions.js'

/** A draft as sent. */
export interface Request {
  draft: Draft
  payload: SimulatePayload
  abi: Abi
  /** Number of leading calls of each block that are not shown. */
  before: number[]
  /** The states to simulate on; the first is shown. */
  states: string[]
}

/** The outcome on one state. */
export type Outcome =
  | { kind: 'refused'; code: number; why: string }
  | {
      kind: 'answered'
      blocks: SimulatedBlock[]
      state: string | undefined
      link: string | undefined
      /** Units of tokens that arguments name but nothing transfers, by address. */
      units: TokenAnswers['units']
    }

/** A failing call, by its block and its index. */
export interface Failure {
  block: number
  index: number
  outcome: SimulatedCall
}

/** The first call that fails. */
export function failureIn(outcome: Outcome): Failure | undefined {
  if (outcome.kind !== 'answered') return undefined
  for (const [block, { calls }] of outcome.blocks.entries()) {
    const index = calls.findIndex(({ error }) => error !== undefined)
    if (index >= 0) return { block, index, outcome: calls[index]! }
  }
  return undefined
}

/** Requested for each call in addition to its outcome. */
const SHOWN = { trace: true, stateDiff: true, assetChanges: true, decode: true, outcome: true, link: true }

/** @throws DraftError */
export function requestOf(draft: Draft): Request {
  return {
    draft,
    payload: payloadOf(draft),
    abi: abiOf(draft.abi),
    before: callsBefore(draft),
    // `pending` is the newest; the page says if `latest` differs.
    states: draft.state === '' ? ['pending', 'latest'] : [draft.state],
  }
}

/** Simulates a request on one state. Rejections are outcomes too. */
export async function outcomeOn(request: Request, state: string, signal?: AbortSignal): Promise<Outcome> {
  try {
    const { result, link, state: stoodOn } = await simulate(request, state, SHOWN, signal)
    const shown = result.map((block, at) => shownOf(block, request.before[at] ?? 0))
    const { units, left } = await tokensAfter(request, shown, state, signal)
    const blocks =
      left.size === 0 ? shown : shown.map((block) => ({ ...block, calls: block.calls.map(withLeft(left)) }))
    return { kind: 'answered', blocks, state: stoodOn, link, units }
  } catch (error) {
    if (signal?.aborted) throw error
    return { kind: 'refused', code: error instanceof RpcFault ? error.code : 0, why: (error as Error).message }
  }
}

/** Simulates the request's blocks. Blocks that fill number gaps have no calls and are omitted. @throws RpcFault */
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

/** Queries tokens on the resulting state, if there are questions. */
async function tokensAfter(
  { payload, abi }: Request,
  blocks: readonly SimulatedBlock[],
  state: string,
  signal?: AbortSignal,
): Promise<TokenAnswers> {
  const questions = questionsAfter(blocks.flatMap(({ calls }) => calls))
  const asked = askedAfter(payload, questions)
  if (asked === undefined) return answersAfter(questions, [])
  try {
    const { result } = await simulate({ payload: asked, abi }, state, {}, signal)
    return answersAfter(questions, result.at(-1)?.calls ?? [])
  } catch (error) {
    // It only adds detail to a known outcome.
    if (error instanceof RpcFault) return answersAfter(questions, [])
    throw error
  }
}

function withLeft(left: TokenAnswers['left']) {
  return (call: SimulatedCall): SimulatedCall => ({
    ...call,
    assetChanges: {
      ...call.assetChanges,
      approvals: call.assetChanges.approvals.map((approval) => {
        const after = left.get(approval)
        return after === undefined ? approval : { ...approval, after }
      }),
    },
  })
}

function shownOf(block: SimulatedBlock, before: number): SimulatedBlock {
  return { ...block, calls: block.calls.slice(before).map(asAccountCall) }
}

/** The calls of all blocks in order, each with its request. */
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

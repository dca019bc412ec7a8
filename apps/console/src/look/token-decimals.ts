import type { Address, Hex } from 'viem'
import type { SimulatePayload } from '../request/payload.js'
import { call, RpcFault } from '../rpc.js'
import { type Frame, failedPath, isOfAmounts, type SimulatedBlock } from './outcome.js'

/** `decimals()` */
const DECIMALS = '0x313ce567'
/** More digits than the largest amount has. */
const MOST_DECIMALS = 77
const MOST_TOKENS = 10

/**
 * Notes in the frames of failures that speak of a token's amounts its `decimals`, as it says after the request's own blocks: overrides count, and
 * what was deployed. Left out where it doesn't answer.
 */
export async function noteDecimals(
  payload: SimulatePayload,
  state: string,
  blocks: readonly SimulatedBlock[],
  signal?: AbortSignal,
): Promise<void> {
  const paths = blocks
    .flatMap(({ calls }) => calls.map(({ trace }) => failedPath(trace)))
    .filter((path) => isOfAmounts(path.at(-1)?.decoded?.error))
  const tokens = [...new Set(paths.map(tokenOf))].filter((token) => token !== undefined).slice(0, MOST_TOKENS)
  if (tokens.length === 0) return
  const questions = { calls: tokens.map((to) => ({ to, input: DECIMALS })) }
  const asked = { ...payload, validation: false, blockStateCalls: [...payload.blockStateCalls, questions] }
  let answers: { returnData: Hex; status: Hex }[]
  try {
    const { result } = await call<{ calls: typeof answers }[]>('upfront_simulate', [asked, state], signal)
    answers = result.at(-1)?.calls ?? []
  } catch (error) {
    // Beyond a limit that the request itself keeps to: amounts stay in the smallest unit.
    if (error instanceof RpcFault) return
    throw error
  }
  for (const path of paths) {
    const answer = answers[tokens.indexOf(tokenOf(path) as Address)]
    if (answer?.status !== '0x1' || answer.returnData.length !== 66) continue
    const decimals = BigInt(answer.returnData)
    if (decimals <= MOST_DECIMALS) for (const frame of path) frame.decimals = Number(decimals)
  }
}

/** The contract whose state the failing code works on: of a proxy, itself and not its implementation. */
function tokenOf(path: readonly Frame[]): Address | undefined {
  return path.findLast(({ type }) => type !== 'DELEGATECALL')?.to
}

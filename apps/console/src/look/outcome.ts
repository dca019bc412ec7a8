import { formatUnits } from 'viem'
import { type Named, namedText, valueText } from '../names/decode.js'
import { failureOf } from './account-call.js'
import type { Frame, SimulatedCall } from './answer.js'

/** Whether the frame or a subcall failed. */
export function hasFailure({ error, calls = [] }: Frame): boolean {
  return error !== undefined || calls.some(hasFailure)
}

/**
 * The frames from the call down to the one whose failure its callers passed on: the deepest failed
 * one, each time in the last subcall. Empty if the call succeeds.
 */
export function failedPath(frame: Frame): Frame[] {
  if (frame.error === undefined) return []
  const last = frame.calls?.at(-1)
  const passedOn = last?.error !== undefined && (frame.output ?? '0x') === (last.output ?? '0x')
  return passedOn ? [frame, ...failedPath(last)] : [frame]
}

/** The error in words. */
export function errorText(error: Named | undefined): string | undefined {
  if (error === undefined) return undefined
  if (error.name === 'Error') return String(error.args.message)
  return inWords(error) ?? error.meaning ?? namedText(error)
}

const AMOUNTS = /^(?:ERC20)?Insufficient(Balance|Allowance)$/

/** Whether the error states held and needed amounts of a token, as those of common tokens do. */
function isOfAmounts(error: Named): boolean {
  return AMOUNTS.test(error.name) && Object.keys(error.args).length >= 3
}

function inWords(error: Named): string | undefined {
  if (!isOfAmounts(error)) return undefined
  const { decimals = 0 } = error
  const [, held, needed] = Object.values(error.args).map((value) =>
    decimals > 0 && /^\d{1,78}$/.test(String(value)) ? formatUnits(BigInt(String(value)), decimals) : valueText(value),
  )
  return /Balance$/.test(error.name)
    ? `the balance is too low: ${held} held, ${needed} needed`
    : `the allowance is too low: ${held} allowed, ${needed} needed`
}

/** Why a call failed, in words; undefined if it did not. */
export function reasonOf(call: SimulatedCall): string | undefined {
  const { error, returnData, trace, decoded } = call
  if (error === undefined) return undefined
  const ofAccount = failureOf(call)
  if (ofAccount !== undefined) return ofAccount
  const failed = failedPath(trace).at(-1)
  const said = errorText(decoded?.error ?? failed?.decoded?.error)
  if (said !== undefined) return said
  if (failed?.error !== undefined && !/revert/.test(failed.error)) return failed.error
  const data = error.data ?? returnData
  if (data.length > 2) return `reverted with ${data.slice(0, 10)}, which no known ABI names`
  return error.code === 3 ? 'reverted without a reason' : error.message
}

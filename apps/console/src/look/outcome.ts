import type { Abi, Address, Hex } from 'viem'
import { type Named, namedError, namedText, valueText } from '../names/decode.js'
import type { AssetChanges } from './assets.js'

/** As the gateway's `upfront_simulate` answers, as far as it is shown. */
export interface SimulatedBlock {
  number: Hex
  calls: SimulatedCall[]
}

export interface Log {
  address: Address
  topics: Hex[]
  data: Hex
}

export interface SimulatedCall {
  gasUsed: Hex
  returnData: Hex
  logs: Log[]
  error?: { code: number; message: string; data?: Hex }
  trace: Frame
  stateDiff: StateDiff
  assetChanges: AssetChanges
}

/** What changes of each account, from and to. */
export type StateDiff = Record<
  Address,
  {
    balance?: Change
    nonce?: Change
    code?: Change
    storage?: Record<Hex, Change>
  }
>

export interface Change {
  from: Hex
  to: Hex
}

/** A frame of geth's callTracer. */
export interface Frame {
  type: string
  from: Address
  to?: Address
  value?: Hex
  gas?: Hex
  gasUsed: Hex
  input?: Hex
  output?: Hex
  error?: string
  revertReason?: string
  calls?: Frame[]
}

/** https://docs.soliditylang.org, "Panic via assert and Error via require". */
const PANICS: Record<string, string> = {
  '1': 'an assertion failed',
  '17': 'arithmetic overflow or underflow',
  '18': 'division by zero',
  '33': 'conversion to an enum value that does not exist',
  '34': 'a storage byte array is wrongly encoded',
  '49': 'pop() on an empty array',
  '50': 'an array index is out of bounds',
  '65': 'too much memory was allocated',
  '81': 'an internal function that was never set was called',
}

/** Whether the frame, or one inside it, failed. */
export function hasFailure({ error, calls = [] }: Frame): boolean {
  return error !== undefined || calls.some(hasFailure)
}

/**
 * The frames from the call itself down to the one whose failure its callers passed on: the deepest that failed, each time in the last
 * frame that the one above called. Empty where the call succeeds.
 */
export function failedPath(frame: Frame): Frame[] {
  if (frame.error === undefined) return []
  const last = frame.calls?.at(-1)
  const passedOn = last?.error !== undefined && (frame.output ?? '0x') === (last.output ?? '0x')
  return passedOn ? [frame, ...failedPath(last)] : [frame]
}

/** What an error's data say, in words; undefined where nothing is known of them. */
export function errorText(data: Hex | undefined, abi: Abi): string | undefined {
  const error = namedError(data, abi)
  if (error === undefined) return undefined
  const [first] = error.args
  if (error.name === 'Error') return String(first?.value)
  if (error.name === 'Panic') return PANICS[String(first?.value)] ?? `panic ${first?.value}`
  return inWords(error) ?? namedText(error)
}

/** Errors that everybody meets. */
function inWords({ name, args }: Named): string | undefined {
  const [, held, needed] = args.map(({ value }) => valueText(value))
  if (/^(ERC20)?InsufficientBalance$/.test(name) && args.length === 3)
    return `the balance is too low: ${held} held, ${needed} needed`
  if (/^(ERC20)?InsufficientAllowance$/.test(name) && args.length === 3)
    return `the allowance is too low: ${held} allowed, ${needed} needed`
  return undefined
}

/** Why a call failed, in words; undefined where it did not. @param abi of the request */
export function reasonOf({ error, returnData, trace }: SimulatedCall, abi: Abi): string | undefined {
  if (error === undefined) return undefined
  const data = error.data ?? returnData
  const said = errorText(data, abi)
  if (said !== undefined) return said
  const failed = failedPath(trace).at(-1)
  if (failed?.error !== undefined && !/revert/.test(failed.error)) return failed.error
  if (data.length > 2) return `reverted with ${data.slice(0, 10)}, which no ABI here names`
  return error.code === 3 ? 'reverted without a reason' : error.message
}

import { type Address, decodeErrorResult, type Hex, parseAbi } from 'viem'
import type { AssetChanges } from './assets.js'

/** As the gateway's `upfront_simulate` answers, as far as it is shown. */
export interface SimulatedBlock {
  number: Hex
  calls: SimulatedCall[]
}

export interface SimulatedCall {
  gasUsed: Hex
  returnData: Hex
  logs: { address: Address; topics: Hex[]; data: Hex }[]
  error?: { code: number; message: string; data?: Hex }
  trace: Frame
  stateDiff: object
  assetChanges: AssetChanges
  /** Where the request brought an ABI. */
  decoded?: { call?: Decoded; error?: Decoded; logs: (Decoded | null)[] }
}

/** A function, error or event with its arguments. */
export interface Decoded {
  name: string
  args: Record<string, unknown>
  /** Of a panic. */
  meaning?: string
}

/** A frame of geth's callTracer. */
export interface Frame {
  type: string
  from: Address
  to?: Address
  value?: Hex
  gasUsed: Hex
  error?: string
  revertReason?: string
  calls?: Frame[]
}

const SOLIDITY_ERRORS = parseAbi(['error Error(string)', 'error Panic(uint256)'])
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
/** `Nope(owner: 0x01, id: 7)` */
export function decodedText({ name, args }: Decoded): string {
  const shown = Object.entries(args).map(
    ([argument, value]) => `${argument}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return `${name}(${shown.join(', ')})`
}

/** Whether the frame, or one inside it, failed. */
export function hasFailure({ error, calls = [] }: Frame): boolean {
  return error !== undefined || calls.some(hasFailure)
}

/** Why a call failed, in words; undefined where it did not. */
export function reasonOf({ error, returnData, decoded }: SimulatedCall): string | undefined {
  if (error === undefined) return undefined
  if (decoded?.error !== undefined && !['Error', 'Panic'].includes(decoded.error.name))
    return `reverted: ${decodedText(decoded.error)}`
  const data = error.data ?? returnData
  try {
    const { errorName, args } = decodeErrorResult({ abi: SOLIDITY_ERRORS, data })
    if (errorName === 'Error') return `reverted: ${args[0]}`
    return `panicked: ${PANICS[String(args[0])] ?? `code ${args[0]}`}`
  } catch {
    return data.length > 2 && error.code === 3 ? `${error.message}, with ${data}` : error.message
  }
}

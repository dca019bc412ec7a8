import {
  type AccountCall,
  decodeWaitingCalls,
  type SignedTransactionCall,
  takeWrittenCalls,
  type WaitingCalls,
} from '../call/written-calls.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeArray, decodeBoolean, decodeObject } from '../decode/structure.js'
import { type TokenSetting, takeTokenSettings } from '../simulate/decode-token-overrides.js'
import { decodeTracer, type Tracer } from './tracer.js'

/** What `upfront_simulate` shows beside what `eth_simulateV1` does. */
export interface Inspection {
  /** Of each call. */
  trace?: Tracer
  /** Of each block and each call. */
  stateDiff: boolean
  /** Of each call (EIP-2930). */
  accessLists: boolean
  /** What each call moves and approves, confirmed by the contracts. */
  assetChanges: boolean
  /** The smallest gas limit with which each call still does what it did. */
  gasLimits: boolean
  /** By which calls, their logs and errors are decoded. */
  abi?: { type: string }[]
  /** Calls, logs, errors and frames are decoded by what is known of contracts that everybody uses. */
  decode?: boolean
  /** What each call pays, or would, to an OP-stack chain beside gas. */
  fees?: boolean
  /** What decided the outcome of each call. */
  depends?: boolean
  /** Whether each call would do the same under other circumstances. */
  outcome?: boolean
  /** Of `outcome`: transactions that wait, and may come before the calls. */
  waiting?: WaitingCalls
  /** The answer has a link to the page: the payload that it is of. */
  link?: object
  /** What has the chain hold each call to what it showed. */
  guard?: boolean
  /** Calls that stand in the request as signed transactions. */
  signed?: SignedTransactionCall[]
  /** Calls that stand in the request as user operations, or as transactions of a Safe; in order. */
  accounts?: AccountCall[]
  /** `erc20` of the blocks' state overrides. */
  tokens?: TokenSetting[]
}

const MOST_ABI_ENTRIES = 1_000
const OPTIONAL_FLAGS = ['decode', 'fees', 'depends', 'outcome', 'guard'] as const

export const INSPECTION_FIELDS = [
  'trace',
  'stateDiff',
  'accessLists',
  'assetChanges',
  'gasLimits',
  'abi',
  'decode',
  'fees',
  'depends',
  'outcome',
  'waiting',
  'link',
  'guard',
] as const

/**
 * Takes what `upfront_simulate` has beside the parameters of `eth_simulateV1` out of its payload. `trace` is `true` for the
 * callTracer with logs, or names a tracer: `{ tracer, tracerConfig }`.
 * @returns the inspection, and the params of `eth_simulateV1`
 * @throws RpcError -32602 with the place of what is wrong
 */
export function decodeInspection(params: unknown): { inspection: Inspection; params: unknown[] } {
  if (!Array.isArray(params)) throw mismatch(undefined, 'params to be [payload, blockParameter]', params)
  const payload = {
    ...decodeObject(params[0], 'an object with `blockStateCalls`', new Place(undefined, 'params[0]')),
  }
  const { trace, abi, positions, waiting } = payload
  if (positions !== undefined && positions !== null)
    throw new DecodeError(new Place(undefined, 'positions'), 'several positions of a block are not tried here')
  const flag = (name: string) => {
    const value = payload[name]
    return value !== undefined && value !== null && decodeBoolean(value, undefined, name)
  }
  const inspection: Inspection = {
    ...(trace !== undefined && trace !== null && trace !== false && { trace: decodeTrace(trace) }),
    stateDiff: flag('stateDiff'),
    accessLists: flag('accessLists'),
    assetChanges: flag('assetChanges'),
    gasLimits: flag('gasLimits'),
    ...Object.fromEntries(OPTIONAL_FLAGS.filter(flag).map((name) => [name, true])),
    ...(abi !== undefined && abi !== null && { abi: decodeAbi(abi) }),
  }
  if (waiting !== undefined && waiting !== null) {
    if (!inspection.outcome) throw new DecodeError(new Place(undefined, 'waiting'), 'is tried with `outcome: true`')
    inspection.waiting = decodeWaitingCalls(waiting, 'waiting')
  }
  const isLinked = flag('link')
  for (const field of INSPECTION_FIELDS) delete payload[field]
  if (isLinked) inspection.link = { ...payload, ...(inspection.abi && { abi }) }
  const { signed, accounts } = takeWrittenCalls(payload)
  if (signed.length > 0) inspection.signed = signed
  if (accounts.length > 0) inspection.accounts = accounts
  const taken = takeTokenSettings(payload.blockStateCalls)
  if (taken !== undefined) {
    inspection.tokens = taken.settings
    payload.blockStateCalls = taken.blocks
  }
  return { inspection, params: [payload, ...params.slice(1)] }
}

function decodeAbi(value: unknown): { type: string }[] {
  const place = new Place(undefined, 'abi')
  const entries = decodeArray(value, 'an array of ABI entries', undefined, 'abi')
  if (entries.length > MOST_ABI_ENTRIES)
    throw new DecodeError(place, `expected at most ${MOST_ABI_ENTRIES} entries, got ${entries.length}`)
  return entries.map((entry, index) => {
    const at = new Place(place, index)
    const { type, ...rest } = decodeObject(entry, 'an ABI entry', at)
    if (typeof type !== 'string') throw mismatch(new Place(at, 'type'), 'a string', type)
    return { ...rest, type }
  })
}

function decodeTrace(value: unknown): Tracer {
  if (value === true) return { name: 'callTracer', config: { withLog: true } }
  const place = new Place(undefined, 'trace')
  const { tracer = 'callTracer', tracerConfig } = decodeObject(value, 'a boolean or an object with `tracer`', place)
  return decodeTracer(tracer, tracerConfig, place)
}

import {
  type AccountCall,
  decodeWaitingCalls,
  extractEncodedCalls,
  type SignedTransactionCall,
  type WaitingCalls,
} from '../call/encoded-calls.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeArray, decodeBoolean, decodeObject } from '../decode/structure.js'
import { extractTokenSettings, type TokenSetting } from '../simulate/decode-token-overrides.js'
import { decodeTracer, type Tracer } from './tracer.js'

/** What `upfront_simulate` shows in addition to `eth_simulateV1`. */
export interface Inspection {
  /** Trace each call. */
  trace?: Tracer
  /** Per block and per call. */
  stateDiff: boolean
  /** Per call (EIP-2930). */
  accessLists: boolean
  /** Transfers and approvals of each call, confirmed by the contracts. */
  assetChanges: boolean
  /** The lowest gas limit at which each call still has the same effect. */
  gasLimits: boolean
  /** ABI to decode calls, logs and errors with. */
  abi?: { type: string }[]
  /** Decode calls, logs, errors and frames with the signatures of widely used contracts. */
  decode?: boolean
  /** What each call pays, or would pay, to an OP-stack chain in addition to gas. */
  fees?: boolean
  /** What determined the outcome of each call. */
  depends?: boolean
  /** Whether each call would have the same effect under other circumstances. */
  outcome?: boolean
  /** For `outcome`: pending transactions that may precede the calls. */
  waiting?: WaitingCalls
  /** Add a link to the page to the answer: the payload that it encodes. */
  link?: object
  /** Calls that enforce on chain what each call showed. */
  guard?: boolean
  /** Calls given as signed transactions. */
  signed?: SignedTransactionCall[]
  /** Calls given as user operations or Safe transactions, in order. */
  accounts?: AccountCall[]
  /** `erc20` from the blocks' state overrides. */
  tokens?: TokenSetting[]
}

const MAX_ABI_ENTRIES = 1_000
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
 * Extracts from a payload what `upfront_simulate` adds to `eth_simulateV1`. `trace` is `true` for the
 * callTracer with logs, or names a tracer: `{ tracer, tracerConfig }`.
 * @returns the inspection, and the params of `eth_simulateV1`
 * @throws RpcError -32602 with the place of the error
 */
export function decodeInspection(params: unknown): { inspection: Inspection; params: unknown[] } {
  if (!Array.isArray(params)) throw mismatch(undefined, 'params to be [payload, blockParameter]', params)
  const payload = {
    ...decodeObject(params[0], 'an object with `blockStateCalls`', new Place(undefined, 'params[0]')),
  }
  const { trace, abi, positions, waiting } = payload
  if (positions !== undefined && positions !== null)
    throw new DecodeError(new Place(undefined, 'positions'), 'is not supported by this method')
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
    if (!inspection.outcome) throw new DecodeError(new Place(undefined, 'waiting'), 'requires `outcome: true`')
    inspection.waiting = decodeWaitingCalls(waiting, 'waiting')
  }
  const isLinked = flag('link')
  for (const field of INSPECTION_FIELDS) delete payload[field]
  if (isLinked) inspection.link = { ...payload, ...(inspection.abi && { abi }) }
  const { signed, accounts } = extractEncodedCalls(payload)
  if (signed.length > 0) inspection.signed = signed
  if (accounts.length > 0) inspection.accounts = accounts
  const taken = extractTokenSettings(payload.blockStateCalls)
  if (taken !== undefined) {
    inspection.tokens = taken.settings
    payload.blockStateCalls = taken.blocks
  }
  return { inspection, params: [payload, ...params.slice(1)] }
}

function decodeAbi(value: unknown): { type: string }[] {
  const place = new Place(undefined, 'abi')
  const entries = decodeArray(value, 'an array of ABI entries', undefined, 'abi')
  if (entries.length > MAX_ABI_ENTRIES)
    throw new DecodeError(place, `expected at most ${MAX_ABI_ENTRIES} entries, got ${entries.length}`)
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

import type { AccessListEntry, Hex, Inspection, Parts, SimulatedBlock, SimulatedCall } from '@upfront/protocol'
import type { ShownOperation, ShownSafeTransaction } from '../accounts/present-account-call.js'
import { type AssetChanges, type AssetQuestions, assetChanges } from '../assets/asset-changes.js'
import type { FailedToken } from '../assets/failed-token.js'
import type { AbiDecoder } from '../decode/abi-decoder.js'
import type { Decoded } from '../decode/abi-values.js'
import { formatInTokenUnits } from '../decode/error-message.js'
import type { CallRecord } from '../engine/call-record.js'
import { SECONDS_LATER } from '../outcome/circumstances.js'
import type { ShownDependencies } from '../outcome/shown-dependencies.js'
import type { Outcome } from '../outcome/verdict.js'
import { NO_RECORDING, type Recording } from '../plan/recording.js'
import { accessListOf } from './access-list.js'
import { countLogs } from './call-tracer.js'
import { presentTrace, recordingFor } from './present-trace.js'
import type { ShownGuard } from './shown-guard.js'
import { type StateDiff, stateDiff } from './state-diff.js'

/** What `upfront_simulate` shows of a call in addition to its outcome. */
export interface ShownCall {
  /** In the format of the requested tracer. */
  trace?: unknown
  stateDiff?: StateDiff
  accessList?: AccessListEntry[]
  assetChanges?: AssetChanges
  /** Absent if it was not found in time. */
  gasLimit?: Hex
  /** The reason why `gasLimit` is missing, if the node did not answer. */
  gasLimitLeftOut?: string
  decoded?: DecodedCall
  /** Absent on chains without such fees. */
  rollupFees?: RollupFees
  /** If the call is a user operation. */
  userOperation?: ShownOperation
  /** If the call is a Safe transaction. */
  safeTransaction?: ShownSafeTransaction
  depends?: ShownDependencies
  outcome?: Outcome
  /** Absent if the call failed. */
  guard?: ShownGuard
}

/** A call as `upfront_simulate` shows it. */
export interface InspectedCall extends SimulatedCall, ShownCall {}

/** Fees that a call pays, or would pay, to an OP-stack chain in addition to gas, in wei. */
export interface RollupFees {
  l1Fee: Hex
  operatorFee: Hex
  /** Dummy bytes replace the signature and missing prices. Real ones may compress differently. */
  isEstimate: true
}

/** A call decoded by an ABI or built-in signatures; `logs` in the order of the call's logs. */
export interface DecodedCall {
  call?: Decoded
  error?: Decoded
  /** Null if unknown. */
  logs: (Decoded | null)[]
}

export interface InspectedBlock extends SimulatedBlock {
  calls: InspectedCall[]
  /** Only in the first block: the request as a link to the page. */
  link?: string
  stateDiff?: StateDiff
}

/** Whether the engine writes the trace as text (`CallRecord.steps`), which is not parsed here. */
export function isTextTrace({ trace }: Inspection): boolean {
  return trace?.name === 'structLogger'
}

/** What an engine has to record for an inspection. */
export function recordingOf({
  trace,
  stateDiff,
  accessLists,
  assetChanges,
  gasLimits,
  abi,
  decode,
  fees,
  accounts,
  depends,
  outcome,
  guard,
}: Inspection): Recording {
  const wanted = trace === undefined ? NO_RECORDING : recordingFor(trace)
  return {
    frames:
      wanted.frames ||
      assetChanges ||
      gasLimits ||
      abi !== undefined ||
      decode === true ||
      fees === true ||
      accounts !== undefined ||
      guard === true,
    state: wanted.state || stateDiff || accessLists,
    ...(assetChanges && { balances: true }),
    ...(!wanted.state && !stateDiff && { withoutCode: true }),
    ...(wanted.steps && { steps: wanted.steps }),
    ...(wanted.uses && { uses: wanted.uses }),
    ...((depends || outcome) && { depends: true }),
    ...(outcome && { effects: true, later: SECONDS_LATER }),
  }
}

/**
 * Adds decoded calls, errors and logs to what is shown.
 * @param calls the results @param records of all calls, in order, with frames @param tokens failed tokens, by call
 * @throws RpcError -32005 if the decoder's budget is exceeded
 */
export function* addDecoded(
  shown: readonly ShownCall[],
  calls: readonly SimulatedCall[],
  records: readonly CallRecord[],
  decoder: AbiDecoder,
  tokens: readonly (FailedToken | undefined)[],
): Parts {
  for (const [index, call] of calls.entries()) {
    const top = records[index]?.frames[0]
    if (top === undefined) continue
    const named = yield* decoder.call(top.input)
    const error = top.reverted ? yield* decoder.error(top.output) : undefined
    const logs: DecodedCall['logs'] = []
    for (const { topics, data } of call.logs) logs.push((yield* decoder.log(topics, data)) ?? null)
    shown[index]!.decoded = {
      ...(named && { call: named }),
      ...(error && { error: formatInTokenUnits(error, tokens[index]) }),
      logs,
    }
  }
}

/**
 * What an inspection shows of each call, as far as it follows from the records.
 * @param blocks the request's blocks @param records of all calls, in order
 * @param asked questions about what the calls moved; the records have the answers
 */
export function inspectedCalls(
  blocks: readonly { calls: readonly unknown[] }[],
  records: readonly CallRecord[],
  inspection: Inspection,
  asked: readonly AssetQuestions[],
): ShownCall[] {
  const changes = inspection.assetChanges ? assetChanges(asked, records) : []
  const { trace } = inspection
  let next = 0
  return blocks.flatMap(({ calls }) => {
    let firstLog = 0
    return calls.map((): ShownCall => {
      const assets = changes[next]
      const record = records[next++]
      if (record === undefined) throw new Error('a call was not recorded')
      const call: ShownCall = {}
      if (trace && trace.name !== 'structLogger') call.trace = presentTrace(record, trace, firstLog)
      if (trace) firstLog += countLogs(record)
      if (inspection.stateDiff) call.stateDiff = stateDiff([record])
      if (inspection.accessLists) call.accessList = accessListOf(record)
      if (assets !== undefined) call.assetChanges = assets
      return call
    })
  })
}

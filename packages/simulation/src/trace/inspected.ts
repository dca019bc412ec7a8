import type { AccessListEntry, Hex, Inspection, Parts, SimulatedBlock, SimulatedCall } from '@upfront/protocol'
import type { ShownOperation, ShownSafeTransaction } from '../accounts/present-account-call.js'
import { type AssetChanges, type AssetQuestions, assetChanges } from '../assets/asset-changes.js'
import type { FailedToken } from '../assets/failed-token.js'
import type { AbiDecoder } from '../decode/abi-decoder.js'
import type { Decoded } from '../decode/abi-values.js'
import { inTokenUnits } from '../decode/error-words.js'
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

/** What `upfront_simulate` shows of a call beside its outcome. */
export interface ShownCall {
  /** As its tracer has it. */
  trace?: unknown
  stateDiff?: StateDiff
  accessList?: AccessListEntry[]
  assetChanges?: AssetChanges
  /** Absent where it was not found in time. */
  gasLimit?: Hex
  /** Why there is no `gasLimit`, in words, where the node did not answer. */
  gasLimitLeftOut?: string
  decoded?: DecodedCall
  /** Absent where the chain has none. */
  rollupFees?: RollupFees
  /** Of a user operation. */
  userOperation?: ShownOperation
  /** Of a Safe's transaction. */
  safeTransaction?: ShownSafeTransaction
  depends?: ShownDependencies
  outcome?: Outcome
  /** Absent where the call failed. */
  guard?: ShownGuard
}

/** A call as `upfront_simulate` shows it. */
export interface InspectedCall extends SimulatedCall, ShownCall {}

/** What a call pays, or would, to an OP-stack chain beside gas, in wei. */
export interface RollupFees {
  l1Fee: Hex
  operatorFee: Hex
  /** Other bytes stand for the signature's, and for those of a price that is not named: real ones may compress otherwise. */
  isEstimate: true
}

/** What an ABI, or what is known without one, says of a call; logs are in the order of the call's. */
export interface DecodedCall {
  call?: Decoded
  error?: Decoded
  /** Null: not known. */
  logs: (Decoded | null)[]
}

export interface InspectedBlock extends SimulatedBlock {
  calls: InspectedCall[]
  /** Of the first block: the request as a link to the page. */
  link?: string
  stateDiff?: StateDiff
}

/** Whether the engine writes the trace, which is never parsed here: `CallRecord.steps`. */
export function isWritten({ trace }: Inspection): boolean {
  return trace?.name === 'structLogger'
}

/** What an engine has to write down for an inspection. */
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
 * Adds to what is shown of calls what an ABI says of them.
 * @param calls as they came out @param records of all calls, in order, with frames @param tokens whose errors theirs are
 * @throws RpcError -32005 where the decoder's budget does not last
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
      ...(error && { error: inTokenUnits(error, tokens[index]) }),
      logs,
    }
  }
}

/**
 * What an inspection asks for of each call, as far as the records have it.
 * @param blocks of which the calls are @param records of all calls, in order
 * @param asked about what the calls moved; the records have the answers
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

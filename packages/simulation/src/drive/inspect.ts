import { EventLoopTurn, runInSlices } from '@upfront/node'
import {
  type Call,
  type Hex,
  type Inspection,
  type JsonText,
  joinJson,
  type Parts,
  type SimulatedBlock,
  type SimulationRequest,
  toQuantity,
  type WaitingCalls,
} from '@upfront/protocol'
import { shownOperation, shownSafeTransaction } from '../accounts/present-account-call.js'
import { type AssetQuestions, assetQuestions, noQuestions, toProbes } from '../assets/asset-changes.js'
import { askFailedTokens, failedToken } from '../assets/failed-token.js'
import { type AbiDecoder, abiDecoder, readAbi } from '../decode/abi-decoder.js'
import { DecodingBudget } from '../decode/abi-values.js'
import { knownAbi } from '../decode/known-signatures.js'
import type { CallRecord } from '../engine/call-record.js'
import { AnswerTooLong } from '../engine/engine.js'
import { shownDependencies } from '../outcome/shown-dependencies.js'
import { isRecorded, NO_RECORDING, type Probe } from '../plan/recording.js'
import { requestLink } from '../present/request-link.js'
import type { TokenLayouts } from '../tokens/token-layouts.js'
import type { CallFrame } from '../trace/call-tracer.js'
import { decodeFrames } from '../trace/decode-frames.js'
import {
  addDecoded,
  type InspectedBlock,
  inspectedCalls,
  isTextTrace,
  recordingOf,
  type ShownCall,
} from '../trace/inspected.js'
import { stateDiff } from '../trace/state-diff.js'
import { structLogJson } from '../trace/struct-logger.js'
import { simulateAfterWaiting } from './after-waiting.js'
import { createComparison } from './comparison.js'
import { createGuards } from './guards.js'
import { minGas } from './least-gas.js'
import { findOperationGas } from './operation-gas.js'
import { determineOutcomes } from './outcomes.js'
import { rollupFees } from './rollup-fees.js'
import { nodeFailureReason } from './run-if-valid.js'
import { setTokens } from './set-tokens.js'
import { gasOf, type Run, type Simulation, type SimulationAnswer, simulate } from './simulate.js'
import { type MadeCall, withAccountCalls } from './with-account-calls.js'
import { withSignedCalls } from './with-signed-calls.js'

interface Recorded {
  records: readonly CallRecord[]
  questions: readonly AssetQuestions[]
  inspection: Inspection
  simulation: Simulation
}

/**
 * Simulates with everything that an inspection asks for. Traces, diffs and access lists take one run, questions to contracts a second one,
 * token amounts, account calls, outcomes, guards, fees and gas limits more.
 * @param layouts token layouts found earlier; pass none where the answer must not depend on earlier requests
 * @param guessed the expected questions to token contracts; if right, no second run is needed
 * @returns as `json` the `result` of `upfront_simulate`; `readList` of the run that it shows, everything else of the first run
 * @throws or rejects with what `run` does
 */
export async function inspect(
  asked: Simulation,
  inspection: Inspection,
  run: Run = simulate,
  layouts?: TokenLayouts,
  guessed: Probe[] = [],
): Promise<SimulationAnswer> {
  const { signed, tokens, accounts } = inspection
  const read = signed === undefined ? asked : await withSignedCalls(asked, signed)
  const { simulation: set, gas } =
    tokens === undefined ? { simulation: read, gas: 0n } : await setTokens(read, tokens, run, layouts)
  const { simulation, made } =
    accounts === undefined ? { simulation: set, made: [] } : await withAccountCalls(set, accounts, run)
  const recording = recordingOf(inspection)
  if (!isRecorded(recording)) {
    const answer = await run(simulation)
    return { ...answer, json: await addBlockFields(answer.json, [], inspection, asked), furtherGas: gas }
  }
  const answer = await run({ ...simulation, recording, probes: guessed })
  // Long records take up to a hundred milliseconds in each of the steps below.
  const turn = new EventLoopTurn()
  let blocks: SimulatedBlock[] | undefined
  const parsed = (): SimulatedBlock[] => {
    blocks ??= JSON.parse(answer.json.toString()) as SimulatedBlock[]
    return blocks
  }
  const isDecoded = inspection.abi !== undefined || inspection.decode === true
  const questions = inspection.assetChanges ? assetQuestions(answer.records) : noQuestions(answer.records)
  if (isDecoded) askFailedTokens(questions, answer.records)
  await turn.yieldIfLong()
  const places = answer.blocks.flatMap(({ calls }, block) => calls.map((_, call) => ({ block, call })))
  const probes = toProbes(questions, places)
  let { records, readList } = answer
  let furtherGas = gas + gasOf(answer) - answer.gasUsed
  if (probes.length > 0 && !areSameProbes(probes, guessed)) {
    // Run again, with the questions between the calls.
    const again = await run({ ...simulation, recording, probes })
    ;({ records, readList } = again)
    furtherGas += gasOf(again)
  }
  const shown = inspectedCalls(simulation.request.blockStateCalls, records, inspection, questions)
  await turn.yieldIfLong()
  if (made.length > 0) furtherGas += await addAccountCalls(shown, made, { records, questions, inspection, simulation })
  if (isDecoded) await decode(shown, parsed(), { records, questions, inspection, simulation })
  const isForAll = layouts === undefined
  const compare = createComparison(simulation, records, run)
  const after = inspection.outcome
    ? await simulateAfterWaiting(
        simulation,
        waitingTransactions(inspection, simulation, records, isForAll),
        answer.gasUsed,
        compare,
        isForAll,
      )
    : { tried: [], leftOut: [], gas: 0n }
  furtherGas += after.gas
  if (inspection.depends) {
    const layers = isForAll ? undefined : simulation.state.layers
    for (const [index, { dependencies }] of records.entries())
      if (dependencies !== undefined) shown[index]!.depends = shownDependencies(dependencies, layers, after.tried)
  }
  if (inspection.outcome) {
    const { tried: afterWaiting, leftOut } = after
    const { blocks } = answer
    const simulated = { simulation, blocks, parsed, records, compare, isForAll, afterWaiting, leftOut }
    const { outcomes, gas } = await determineOutcomes(simulated)
    for (const [index, outcome] of outcomes.entries()) shown[index]!.outcome = outcome
    furtherGas += gas
  }
  if (inspection.guard) {
    const { guards, gas } = await createGuards(simulation, records, run)
    for (const [index, guard] of guards.entries()) if (guard !== undefined) shown[index]!.guard = guard
    furtherGas += gas
  }
  if (inspection.fees) {
    const found = await rollupFees(simulation, run)
    for (const [index, fees] of (found?.fees ?? []).entries()) shown[index]!.rollupFees = fees
    furtherGas += found === undefined ? 0n : gasOf(found.answer)
  }
  if (inspection.gasLimits) furtherGas += await addGasLimits(shown, parsed(), records, simulation, run, isForAll)
  await turn.yieldIfLong()
  const json = appendShown(answer.parts, shown, isTextTrace(inspection) ? records : [])
  // Blocks' fields make it longer: it need not be parsed to see that it is too long.
  if (json.length > simulation.limits.answerBytes) throw new AnswerTooLong(simulation.limits.answerBytes)
  await turn.yieldIfLong()
  return { ...answer, json: await addBlockFields(json, records, inspection, asked), furtherGas, probes, readList }
}

function areSameProbes(probes: readonly Probe[], others: readonly Probe[]): boolean {
  const isOther = ({ block, call, to, input }: Probe, index: number) => {
    const other = others[index]!
    return block !== other.block || call !== other.call || to !== other.to || input !== other.input
  }
  return probes.length === others.length && !probes.some(isOther)
}

/** Appends to each call of the answer what is shown of it. @param traced records whose steps are the trace */
function appendShown(parts: readonly JsonText[], shown: readonly ShownCall[], traced: readonly CallRecord[]): JsonText {
  const fields = shown.map((call) => JSON.stringify(call).slice(1, -1))
  return joinJson(
    parts.flatMap((part, index) => [
      part,
      ...(traced[index] ? [',"trace":', ...structLogJson(traced[index])] : []),
      ...(fields[index] ? [`,${fields[index]}`] : []),
    ]),
  )
}

/** Adds each block's state diff, and the first block's link. */
async function addBlockFields(
  json: JsonText,
  records: readonly CallRecord[],
  { stateDiff: isDiffAsked, link: payload }: Inspection,
  { base, opening }: Simulation,
): Promise<JsonText> {
  // No link on a block under construction: its state is soon gone.
  const link = payload && opening === undefined ? requestLink(payload, base.hash) : undefined
  if (!isDiffAsked && link === undefined) return json
  const turn = new EventLoopTurn()
  const blocks: InspectedBlock[] = JSON.parse(json.toString())
  await turn.yieldIfLong()
  let next = 0
  for (const block of isDiffAsked ? blocks : []) {
    const first = next
    next += block.calls.length
    block.stateDiff = stateDiff(records.slice(first, next))
  }
  if (blocks[0] !== undefined && link !== undefined) blocks[0].link = link
  return JSON.stringify(blocks)
}

async function decode(
  shown: readonly ShownCall[],
  blocks: readonly SimulatedBlock[],
  { records, questions, inspection, simulation }: Recorded,
): Promise<void> {
  const { abi, decode, trace } = inspection
  const { limits, cancellation } = simulation
  const tables = [...(abi === undefined ? [] : [await readAbi(abi)]), ...(decode ? [await knownAbi()] : [])]
  const decoder = abiDecoder(tables, new DecodingBudget(limits.answerBytes))
  const calls = blocks.flatMap((block) => block.calls)
  const tokens = records.map((record, index) => failedToken(questions[index]!, record))
  await runInSlices(addDecoded(shown, calls, records, decoder, tokens), cancellation)
  if (!decode || trace?.name !== 'callTracer') return
  for (const [index, call] of shown.entries())
    if (call.trace) await runInSlices(decodeFrames(call.trace as CallFrame, decoder, tokens[index]), cancellation)
}

/** @returns the gas used to find them */
async function addAccountCalls(
  calls: readonly ShownCall[],
  made: readonly MadeCall[],
  { records, questions, inspection, simulation }: Recorded,
): Promise<bigint> {
  const { limits, cancellation } = simulation
  const decoder = inspection.decode ? abiDecoder([await knownAbi()], new DecodingBudget(limits.answerBytes)) : undefined
  const explain = async (data: Hex) => decoder && runInSlices(errorMeaning(decoder, data), cancellation)
  let gas = 0n
  for (const one of made) {
    const { block, call } = one.position
    const before = simulation.request.blockStateCalls.slice(0, block)
    const index = before.reduce((sum, { calls: { length } }) => sum + length, call)
    const [shown, record] = [calls[index]!, records[index]!]
    if (one.kind === 'safe') shown.safeTransaction = await shownSafeTransaction(one.made, record, explain)
    else {
      const limits = inspection.gasLimits ? await findOperationGas(one.made, one.rehearsal) : undefined
      shown.userOperation = await shownOperation(
        one.made,
        record,
        explain,
        inspection.assetChanges ? questions[index] : undefined,
        limits,
      )
    }
    gas += one.rehearsal.gas
  }
  return gas
}

function* errorMeaning(decoder: AbiDecoder, data: Hex): Parts<string | undefined> {
  const error = yield* decoder.error(data)
  return error && (error.meaning ?? error.name)
}

/** Waiting transactions: those that the request names, and those that the gateway has seen. */
function waitingTransactions(
  { waiting = { calls: [], signed: [] } }: Inspection,
  { seenWaiting }: Simulation,
  records: readonly CallRecord[],
  isForAll: boolean,
): { given: WaitingCalls; seen: Call[] } {
  if (isForAll || seenWaiting === undefined) return { given: waiting, seen: [] }
  return { given: waiting, seen: seenWaiting(records.flatMap(({ dependencies }) => dependencies?.facts ?? [])) }
}

/** @returns the gas used */
async function addGasLimits(
  shown: readonly ShownCall[],
  blocks: readonly SimulatedBlock[],
  records: readonly CallRecord[],
  simulation: Simulation,
  run: Run,
  isForAll: boolean,
): Promise<bigint> {
  let leftOut: string | undefined
  const onFailed = (error: unknown) => {
    leftOut = nodeFailureReason(error, { ...simulation, isForAll })
  }
  const used = blocks.flatMap(({ calls }) => calls.map(({ maxUsedGas }) => BigInt(maxUsedGas)))
  let gas = 0n
  const attempt = async (request: SimulationRequest) => {
    const tried = await run({ ...simulation, request, recording: { ...NO_RECORDING, frames: true } })
    gas += gasOf(tried)
    return tried.records
  }
  const found = await minGas(simulation.request, records, used, attempt, onFailed)
  for (const [index, limit] of found.entries()) {
    if (limit !== undefined) shown[index]!.gasLimit = toQuantity(limit)
    else if (leftOut !== undefined) shown[index]!.gasLimitLeftOut = leftOut
  }
  return gas
}

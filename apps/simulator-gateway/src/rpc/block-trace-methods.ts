import type { Chain } from '@upfront/chain'
import { decodeFixedBytes, decodeQuantity, EventLoopTurn, malformed, type UpstreamClient } from '@upfront/node'
import {
  type BlockHeader,
  type BlockParameter,
  decodeBlockNumber,
  decodeBytes32,
  decodeTracerParams,
  ErrorCode,
  type Hash,
  type JsonText,
  Place,
  RpcError,
  type Tracing,
} from '@upfront/protocol'
import {
  AnswerTooLong,
  type Driver,
  type OpenedBlock,
  type PinnedBlock,
  planTransaction,
  presentRejection,
  ReadBudget,
  recordingFor,
  SimulationRejected,
} from '@upfront/simulation'
import { answerStateOf } from '../pending/answer-state.js'
import type { Positions } from '../pending/positions.js'
import type { SimulationBases } from '../pending/simulation-bases.js'
import { lengthOf } from '../requests/answer-sender.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { countSpending, runInRecordTurn, runWithGrowingLimit, type WorkCost } from '../simulate/run-limits.js'
import { narrowed } from '../simulate/simulation-context.js'
import { decoding, timeOf } from './reading.js'
import { inTracersWords, TRACING, traceJson, traceLimits, withinTimeout } from './trace-answer.js'

/** Dependencies of the trace methods. */
interface BlockTracing {
  positions: Positions
  bases: SimulationBases
  chain: Chain
  client: UpstreamClient
  driver: Driver
}

/** Limit of all traces of a block together, in bytes of JSON. */
const MAX_BLOCK_BYTES = 16 * 1024 * 1024
/** Bytes reserved per byte of traces. */
const COPIES = 3
const TRANSACTION_BYTES = 8 * 1024 * 1024

/** `debug_traceTransaction` and `debug_traceBlockBy…`: trace transactions of blocks at their positions. */
export function blockTraceMethods(tracing: BlockTracing): [string, RpcMethod][] {
  const { positions, bases, chain } = tracing
  const open = async (header: BlockHeader, context: RpcContext) => {
    if (header.number === 0n) throw new RpcError(ErrorCode.serverError, 'genesis is not traceable')
    bases.noteBase({ header, key: header.hash }, context.view)
    return positions.open(header, timeOf(context))
  }
  const openNamed = async (block: BlockParameter, context: RpcContext): Promise<OpenedBlock> => {
    const { view } = context
    const snapshot = bases.snapshotFor(block, view)
    if (snapshot !== undefined) {
      view.answerState = answerStateOf(snapshot)
      return positions.openSnapshot(snapshot, timeOf(context))
    }
    if (bases.isHead(block) || block.kind !== 'tag' || block.tag !== 'pending')
      return open(await headerOf(block, tracing, context), context)
    const openPending = (pinned: PinnedBlock) =>
      pinned.opening ? positions.openPinned(pinned, timeOf(context)) : open(pinned.header, context)
    return chain.resolver.onBlock(block, timeOf(context), openPending, (pinned) => bases.noteBase(pinned, view))
  }
  const byBlock = (decode: (value: unknown) => BlockParameter) =>
    decoding(async (params, context) => {
      const { traced, tracing: how } = decodeTracerParams(params)
      return traceAll(await openNamed(decode(traced), context), how, tracing, context)
    })
  return [
    [
      'debug_traceTransaction',
      decoding(async (params, context) => {
        const { traced, tracing: how } = decodeTracerParams(params)
        const { header, index } = await find(decodeBytes32(traced, undefined, 'params[0]'), tracing, context)
        const opened = await open(header, context)
        return countSpending(context.limits, context, (taken) => trace(opened, index, how, tracing, context, taken))
      }),
    ],
    ['debug_traceBlockByNumber', byBlock((value) => decodeBlockNumber(value, new Place(undefined, 'params[0]')))],
    ['debug_traceBlockByHash', byBlock(hashOf)],
  ]
}

/** Traces a transaction on the state at its position. @returns JSON in parts */
async function trace(
  opened: OpenedBlock,
  index: number,
  how: Tracing,
  { positions, driver }: BlockTracing,
  context: RpcContext,
  taken: WorkCost,
  expectedBytes = 0,
): Promise<JsonText[]> {
  const { header, parent, rules, prefix, transactions } = opened
  const time = timeOf(context)
  const { tracer } = how
  const sealed = transactions[index]
  if (sealed === undefined)
    throw new RpcError(ErrorCode.serverError, `transaction index ${index} out of range for block ${header.hash}`)
  // Executes the transaction itself too: its sender and its expected gas come from there.
  await positions.after(opened, index + 1, time)
  const state = await positions.after(opened, index, time)
  const [executed, receipt] = [prefix.transactions[index]!, prefix.receipts[index]!]
  const limits = traceLimits(tracer, context.limits)
  try {
    return await runInRecordTurn(context, async (turn) => {
      const run = async (answerBytes: number) => {
        await turn.take(answerBytes)
        const on = { header, parent }
        const plan = planTransaction(sealed, executed, on, rules, { answerBytes }, recordingFor(tracer))
        const budget = new ReadBudget(limits.upstreamReads, time.deadline)
        taken.budget = budget
        return withinTimeout(how, context, (cancellation) => driver.simulate(plan, state, { budget, cancellation }))
      }
      const answer = await runWithGrowingLimit(limits, context, run, expectedBytes)
      taken.gasUsed += answer.gasUsed
      if (answer.gasUsed !== receipt.gasUsed)
        throw new Error(
          `transaction ${sealed.hash} used ${receipt.gasUsed} gas, and ${answer.gasUsed} when it was traced`,
        )
      const at = {
        blockHash: opened.isPending ? null : header.hash,
        blockNumber: header.number,
        transactionHash: sealed.hash,
        transactionPosition: index,
      }
      return traceJson(answer, tracer, limits, prefix.logsBefore(index), at)
    })
  } catch (error) {
    if (!(error instanceof SimulationRejected)) throw error
    throw new RpcError(ErrorCode.serverError, presentRejection(error.rejection, TRACING).message)
  }
}

/** Traces every transaction of the block. @returns JSON in parts */
async function traceAll(
  opened: OpenedBlock,
  how: Tracing,
  tracing: BlockTracing,
  context: RpcContext,
): Promise<JsonText[]> {
  const { answerBytes } = narrowed(context.limits, MAX_BLOCK_BYTES)
  return countSpending(context.limits, context, async (taken) => {
    const traces: JsonText[] = []
    let bytes = 0
    /** Expected length of the next trace: a trace longer than expected is run twice. */
    let expected = 0
    const turn = new EventLoopTurn()
    for (const [index, { hash }] of opened.transactions.entries()) {
      await turn.yieldIfLong()
      context.signal.throwIfAborted()
      const result = await trace(opened, index, how, tracing, context, taken, expected)
      // Kept as bytes: V8 frees strings that live this long only after several hundred megabytes have piled up.
      const json = result.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
      traces.push(`${index === 0 ? '[' : ','}{"txHash":"${hash}","result":`, ...json, '}')
      bytes += lengthOf(json)
      expected = 2 * lengthOf(json)
      if (bytes > answerBytes) throw new AnswerTooLong(answerBytes)
      context.reserve?.(COPIES * bytes)
    }
    return traces.length === 0 ? ['[]'] : [...traces, ']']
  })
}

/** @throws RpcError with geth's message if there is no such block */
async function headerOf(
  parameter: BlockParameter,
  { bases, chain }: BlockTracing,
  context: RpcContext,
): Promise<BlockHeader> {
  if (bases.isHead(parameter)) return (await bases.head(context.view, timeOf(context))).header
  try {
    return (await chain.resolver.resolve(parameter, timeOf(context))).header
  } catch (error) {
    throw inTracersWords(error)
  }
}

/** The block and index of a transaction. @throws RpcError with geth's message if it is in no block */
async function find(
  hash: Hash,
  tracing: BlockTracing,
  context: RpcContext,
): Promise<{ header: BlockHeader; index: number }> {
  const kept = tracing.chain.find(hash)
  if (kept !== undefined) return { header: kept.block.header, index: kept.index }
  const asked = {
    method: 'eth_getTransactionByHash',
    params: [hash],
    decode: placeFromRpc,
    maxBytes: TRANSACTION_BYTES,
  }
  const place = await tracing.client.call(asked, timeOf(context))
  if (place === undefined) throw new RpcError(ErrorCode.serverError, 'transaction not found')
  const { blockHash, index } = place
  const parameter: BlockParameter = { kind: 'hash', hash: blockHash, requireCanonical: false }
  return { header: await headerOf(parameter, tracing, context), index }
}

/** Undefined if the transaction is in no block yet. */
function placeFromRpc(transaction: unknown): { blockHash: Hash; index: number } | undefined {
  if (transaction === null) return undefined
  if (typeof transaction !== 'object') throw malformed('a transaction', transaction)
  const { blockHash, transactionIndex } = transaction as Record<string, unknown>
  if (blockHash === null || blockHash === undefined) return undefined
  return { blockHash: decodeFixedBytes(blockHash, 32), index: Number(decodeQuantity(transactionIndex, 32)) }
}

function hashOf(value: unknown): BlockParameter {
  return { kind: 'hash', hash: decodeBytes32(value, undefined, 'params[0]'), requireCanonical: false }
}

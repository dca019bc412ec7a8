import { type Chain, newestBlock } from '@upfront/chain'
import { catchError, EventLoopTurn } from '@upfront/node'
import {
  type BlockPosition,
  ErrorCode,
  extractPositions,
  type Hash,
  RpcError,
  type SimulationRequest,
  type SweptPositions,
  toQuantity,
} from '@upfront/protocol'
import { AnswerTooLong, type OpenedPrefix, type PinnedBlock, type Probe, type TouchedList } from '@upfront/simulation'
import type { Positions } from '../pending/positions.js'
import type { SimulationBases } from '../pending/simulation-bases.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import type { Simulator } from '../simulate/simulator.js'
import { blockParameter, decoding, timeOf } from './reading.js'

/** Bytes reserved per byte of outcomes. */
const COPIES = 3
const START = { blockNumber: 'pending', transactionIndex: 0 }

interface Sweeping {
  simulator: Simulator
  positions: Positions
  bases: SimulationBases
  chain: Chain
}

/** A block whose positions are swept. */
interface SweptBlock {
  /** The block to pin; absent for a stream's block under construction, which the request's view pins. */
  pinned?: PinnedBlock
  transactions: readonly Hash[]
  opened: OpenedPrefix
}

/** The outcome at one position. */
interface Tried {
  transactionIndex: number
  /** All state that the outcome depends on; absent if the call was not executed, or if not all of it is known. */
  readList?: TouchedList | undefined
  outcome: string
}

/** `upfront_simulate`; if the payload has `positions`, it runs one call at several positions of a block. */
export function sweepMethod(sweeping: Sweeping): RpcMethod {
  const { simulator } = sweeping
  const swept = decoding(async (params, context) => {
    const taken = extractPositions(params)!
    const [payload, block = 'latest'] = taken.params
    const { pinned, transactions, opened } = await sweptBlock([payload, block], sweeping, context)
    const asked = indexes(taken.positions, transactions.length)
    // The highest position first: it brings the state of all others.
    await sweeping.positions.after(opened, Math.max(...asked), timeOf(context))
    const outcomes: string[] = []
    let length = 0
    let gasUsed = 0n
    // Token contracts are asked nearly the same at every position.
    let probes: Probe[] = []
    const decoded = await simulator.decode('upfront_simulate', [payload, START], context)
    // All runs use the block that was opened, even if the node's pending block is another one by now.
    if (pinned !== undefined) {
      context.view.pinned ??= new WeakMap()
      context.view.pinned.set((decoded.request.block as BlockPosition).block, pinned)
    }
    // With these, the read list of the last run does not contain everything that the outcome depends on.
    const isWhole = decoded.inspection?.tokens === undefined && decoded.inspection?.accounts === undefined
    const tried = (transactionIndex: number) =>
      simulator.run(
        { ...decoded, request: requestAt(decoded.request, transactionIndex) },
        context,
        ({ json, readList, ...answer }): Tried => {
          probes = answer.probes ?? []
          gasUsed += answer.gasUsed + (answer.furtherGas ?? 0n)
          return { transactionIndex, readList: isWhole ? readList : undefined, outcome: callIn(json.toString()) }
        },
        { probes, isTrial: true },
      )
    const turn = new EventLoopTurn()
    let last: Tried | undefined
    for (const transactionIndex of asked) {
      await turn.yieldIfLong()
      context.signal.throwIfAborted()
      if (last === undefined || !isSame(last, transactionIndex, opened))
        last = await catchError(
          () => tried(transactionIndex),
          (error) => ({ transactionIndex, outcome: JSON.stringify(rejected(error)) }),
        )
      // The outcome is reused, and compared from this position from now on.
      else last = { ...last, transactionIndex }
      if (gasUsed > context.limits.gas)
        throw new RpcError(
          ErrorCode.limitExceeded,
          `positions: the calls together use more than ${context.limits.gas} gas: ask for fewer`,
        )
      const before = transactions[transactionIndex]
      const place = JSON.stringify({ transactionIndex: toQuantity(BigInt(transactionIndex)), before })
      outcomes.push(`${place.slice(0, -1)},${last.outcome.slice(1)}`)
      length += place.length + last.outcome.length
      if (length > context.limits.answerBytes) throw new AnswerTooLong(context.limits.answerBytes)
      context.reserve?.(COPIES * length)
    }
    return `[${outcomes.join()}]`
  })
  return (params, context) =>
    isSwept(params)
      ? swept(params, context)
      : simulator.simulate('upfront_simulate', params, context, ({ json }) => json)
}

/** Whether no transaction between two positions changed the state that the outcome depends on. */
function isSame({ transactionIndex, readList }: Tried, other: number, { prefix }: OpenedPrefix): boolean {
  return (
    readList !== undefined &&
    prefix.isSame(readList, Math.min(transactionIndex, other), Math.max(transactionIndex, other))
  )
}

function isSwept(params: unknown): boolean {
  return Array.isArray(params) && (params[0] as { positions?: unknown } | null | undefined)?.positions != null
}

/** @throws RpcError -32602 if the block has no such position */
function indexes(positions: SweptPositions, count: number): number[] {
  if (positions === 'all') return Array.from({ length: count + 1 }, (_, index) => index)
  if (positions.length > count + 1)
    throw new RpcError(
      ErrorCode.invalidParams,
      `positions: the block has ${count + 1} positions, got ${positions.length}`,
    )
  const at = positions.findIndex((index) => index > count)
  if (at === -1) return positions
  const has = count === 1 ? '1 transaction' : `${count} transactions`
  throw new RpcError(ErrorCode.invalidParams, `positions[${at}]: the block has ${has}, got ${positions[at]}`)
}

async function sweptBlock(
  params: unknown[],
  { positions, bases, chain }: Sweeping,
  context: RpcContext,
): Promise<SweptBlock> {
  const parameter = blockParameter(params, 1)
  const snapshot = bases.snapshotFor(parameter, context.view)
  const time = timeOf(context)
  if (snapshot !== undefined)
    return {
      transactions: newestBlock(snapshot).transactions.map(({ hash }) => hash),
      opened: await positions.openUnsealed(snapshot, time),
    }
  const open = async (pinned: PinnedBlock) => {
    const opened = await positions.openPinned(pinned, time)
    return { pinned, opened, transactions: opened.transactions.map(({ hash }) => hash) }
  }
  return bases.isHead(parameter)
    ? open(await bases.head(context.view, time))
    : chain.resolver.onBlock(parameter, time, open)
}

/** The outcome of a call that is no valid transaction at a position. @throws every other error */
function rejected(error: unknown): object {
  const isRejection = error instanceof RpcError && error.message.startsWith('blockStateCalls[0].calls[0]: ')
  if (!isRejection || error.code === ErrorCode.limitExceeded || error.code === ErrorCode.invalidParams) throw error
  return { rejected: { code: error.code, message: error.message } }
}

function requestAt(request: SimulationRequest, transactionIndex: number): SimulationRequest {
  return { ...request, block: { ...(request.block as BlockPosition), transactionIndex } }
}

/** The single call in a trial's JSON. */
function callIn(json: string): string {
  return json.slice('[{"calls":['.length, -']}]'.length)
}

import { type Chain, newestBlock } from '@upfront/chain'
import { recovered, Turn } from '@upfront/node'
import {
  type BlockPosition,
  ErrorCode,
  type Hash,
  RpcError,
  type SimulationRequest,
  type SweptPositions,
  takePositions,
  toQuantity,
} from '@upfront/protocol'
import { AnswerTooLong, type OpenedPrefix, type PinnedBlock, type Probe, type TouchedList } from '@upfront/simulation'
import type { Positions } from '../pending/positions.js'
import type { SimulationBases } from '../pending/simulation-bases.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import type { Simulator } from '../simulate/simulator.js'
import { blockParameter, decoding, timeOf } from './reading.js'

/** What is reserved for each byte of the outcomes. */
const COPIES = 3
const START = { blockNumber: 'pending', transactionIndex: 0 }

interface Sweeping {
  simulator: Simulator
  positions: Positions
  bases: SimulationBases
  chain: Chain
}

/** A block whose positions are tried. */
interface SweptBlock {
  /** What it stands on; of a stream's block under construction, the request's view knows. */
  pinned?: PinnedBlock
  transactions: readonly Hash[]
  opened: OpenedPrefix
}

/** The outcome at one position, as JSON. */
interface Tried {
  transactionIndex: number
  /** What it comes of, where the call was executed. */
  readList?: TouchedList | undefined
  outcome: string
}

/** `upfront_simulate`, of one call at several positions of a block where the payload names `positions`. */
export function sweepMethod(sweeping: Sweeping): RpcMethod {
  const { simulator } = sweeping
  const swept = decoding(async (params, context) => {
    const taken = takePositions(params)!
    const [payload, block = 'latest'] = taken.params
    const { pinned, transactions, opened } = await sweptBlock([payload, block], sweeping, context)
    const asked = indexes(taken.positions, transactions.length)
    // All that the last position needs at once.
    await sweeping.positions.after(opened, Math.max(...asked), timeOf(context))
    const outcomes: string[] = []
    let length = 0
    let gasUsed = 0n
    // Of one call contracts are asked the same nearly everywhere.
    let probes: Probe[] = []
    const decoded = await simulator.decode('upfront_simulate', [payload, START], context)
    // It stays the block that was opened, though the node may have another one under construction by now.
    if (pinned !== undefined) {
      context.view.pinned ??= new WeakMap()
      context.view.pinned.set((decoded.request.block as BlockPosition).block, pinned)
    }
    // What the last run reads does not tell what others found before.
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
    const turn = new Turn()
    let last: Tried | undefined
    for (const transactionIndex of asked) {
      await turn.pass()
      context.signal.throwIfAborted()
      if (last === undefined || !isSame(last, transactionIndex, opened))
        last = await recovered(
          () => tried(transactionIndex),
          (error) => ({ transactionIndex, outcome: JSON.stringify(rejected(error)) }),
        )
      // What is the same here as there need not be compared with there again.
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

/** Whether nothing that the outcome comes of was changed between its position and another. */
function isSame({ transactionIndex, readList }: Tried, other: number, { prefix }: OpenedPrefix): boolean {
  return (
    readList !== undefined &&
    prefix.isSame(readList, Math.min(transactionIndex, other), Math.max(transactionIndex, other))
  )
}

function isSwept(params: unknown): boolean {
  return Array.isArray(params) && (params[0] as { positions?: unknown } | null | undefined)?.positions != null
}

/** @throws RpcError -32602 where the block has no such position */
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

/** A call that is no valid transaction at a position has that as its outcome there. @throws what is no such error */
function rejected(error: unknown): object {
  const isRejection = error instanceof RpcError && error.message.startsWith('blockStateCalls[0].calls[0]: ')
  if (!isRejection || error.code === ErrorCode.limitExceeded || error.code === ErrorCode.invalidParams) throw error
  return { rejected: { code: error.code, message: error.message } }
}

function requestAt(request: SimulationRequest, transactionIndex: number): SimulationRequest {
  return { ...request, block: { ...(request.block as BlockPosition), transactionIndex } }
}

/** The call of a trial that has one. */
function callIn(json: string): string {
  return json.slice('[{"calls":['.length, -']}]'.length)
}

import { mayHoldLogs, type PreconfirmedSnapshot } from '@upfront/chain'
import {
  type BlockHeader,
  type BlockParameter,
  decodeLogFilter,
  ErrorCode,
  type LogFilter,
  logMatches,
  Place,
  RpcError,
  toQuantity,
} from '@upfront/protocol'
import { type PendingBlock, presentPendingLogs } from '@upfront/simulation'
import { answerStateOf } from '../pending/answer-state.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { decoding, headersTo, Overriding, type Reading, timeOf } from './reading.js'

/** Gas of the blocks whose logs are read in one batch: on real chains they then take about 16 MB. */
const GAS_AT_A_TIME = 1_000_000_000n

const LATEST: BlockParameter = { kind: 'tag', tag: 'latest' }

/**
 * `eth_getLogs`, if `passed` has it. Kept blocks and blocks under construction are answered here, older ones by the node; a range from
 * older blocks to `pending` is put together from both.
 */
export function logMethods(reading: Reading, passed: ReadonlyMap<string, RpcMethod>): Map<string, RpcMethod> {
  const { bases, preconfirmed } = reading
  const method = (pass: RpcMethod) =>
    decoding(async (params, context) => {
      const filter = decodeLogFilter(params[0], new Place(undefined, 'params[0]'))
      const { view } = context
      if (filter.blockHash !== undefined) {
        const hash = filter.blockHash
        const snapshot = preconfirmed.snapshotFor(view)
        const unsealed = snapshot?.blocks.find((block) => block.hash === hash)
        if (snapshot !== undefined && unsealed !== undefined) {
          view.answerState = answerStateOf(snapshot)
          return JSON.stringify(presentPendingLogs([unsealed], filter))
        }
        const held = await bases.held({ kind: 'hash', hash, requireCanonical: false }, view, timeOf(context))
        if (held === undefined) return pass(params, context)
        bases.noteBase(held, view)
        return matching(reading, [held.header], filter, context)
      }
      const { fromBlock = LATEST, toBlock = LATEST } = filter
      const snapshot = bases.snapshotFor(toBlock, view)
      const range = { from: fromBlock, to: snapshot === undefined ? toBlock : numbered(snapshot.head.number) }
      if (snapshot === undefined) {
        if (isUnsealed(reading, fromBlock, context)) throw invalidRange()
        return sealed(reading, range, filter, params, context, pass)
      }
      const unsealed = JSON.stringify(presentPendingLogs(unsealedFrom(fromBlock, snapshot), filter))
      if (reachesSealed(fromBlock, snapshot)) {
        const below = String(await sealed(reading, range, filter, params, context, pass))
        view.answerState = answerStateOf(snapshot)
        return joinedLists(below, unsealed)
      }
      view.answerState = answerStateOf(snapshot)
      return unsealed
    })
  const overriding = new Overriding(passed)
  overriding.serve('eth_getLogs', method)
  return overriding.methods
}

interface Range {
  from: BlockParameter
  to: BlockParameter
}

/** The logs of sealed blocks as JSON: from here if all of them are kept, otherwise from the node. */
async function sealed(
  reading: Reading,
  { from, to }: Range,
  filter: LogFilter,
  [given]: unknown[],
  context: RpcContext,
  pass: RpcMethod,
): Promise<string> {
  const { bases } = reading
  const headers = await keptBetween(reading, from, to, context)
  if (headers === undefined) {
    const bound = async (block: BlockParameter) => {
      const isOfAll = context.view.holdsSeveral || block.kind !== 'tag' || block.tag !== 'latest'
      if (!bases.isHead(block) || !isOfAll) return shown(block)
      const head = await bases.head(context.view, timeOf(context))
      bases.noteBase(head, context.view)
      return toQuantity(head.header.number)
    }
    const bounds = { fromBlock: await bound(from), toBlock: await bound(to) }
    return String(await pass([{ ...(given as object), ...bounds }], context))
  }
  const newest = headers.at(-1)!
  bases.noteBase({ header: newest, key: newest.hash }, context.view)
  return matching(reading, headers, filter, context)
}

/** The headers of a range, oldest first; undefined if any is not kept. */
async function keptBetween(
  reading: Reading,
  from: BlockParameter,
  to: BlockParameter,
  context: RpcContext,
): Promise<BlockHeader[] | undefined> {
  const { bases } = reading
  const [first, last] = [
    await bases.held(from, context.view, timeOf(context)),
    await bases.held(to, context.view, timeOf(context)),
  ]
  if (first === undefined || last === undefined || first.header.number > last.header.number) return undefined
  const headers = headersTo(reading, last.header, ({ number }) => number === first.header.number)
  return headers?.[0]?.hash === first.header.hash ? headers : undefined
}

/** The matching logs of these blocks as JSON. @throws RpcError -32005 if they are too long */
async function matching(
  { chain }: Reading,
  headers: readonly BlockHeader[],
  filter: LogFilter,
  context: RpcContext,
): Promise<string> {
  const { answerBytes } = context.limits
  const asked = headers.filter(({ logsBloom }) => mayHoldLogs(logsBloom, filter))
  const found: string[] = []
  let length = 2
  for (const some of batched(asked)) {
    const read = await Promise.all(some.map((header) => chain.logs.of(header, timeOf(context))))
    for (const log of read.flat()) {
      if (!logMatches(log, filter)) continue
      found.push(log.json)
      length += log.json.length + 1
      if (length > answerBytes)
        throw new RpcError(
          ErrorCode.limitExceeded,
          `the logs take more than ${answerBytes} bytes: ask for fewer blocks`,
        )
    }
  }
  return `[${found.join(',')}]`
}

/** Cut into batches of at most `GAS_AT_A_TIME`, or of one block. */
function* batched(headers: readonly BlockHeader[]): Generator<BlockHeader[]> {
  let batch: BlockHeader[] = []
  let gas = 0n
  for (const header of headers) {
    gas += header.gasUsed
    if (gas > GAS_AT_A_TIME && batch.length > 0) {
      yield batch
      batch = []
      gas = header.gasUsed
    }
    batch.push(header)
  }
  if (batch.length > 0) yield batch
}

function joinedLists(first: string, second: string): string {
  if (first === '[]') return second
  return second === '[]' ? first : `${first.slice(0, -1)},${second.slice(1)}`
}

function isUnsealed({ bases }: Reading, block: BlockParameter, { view }: RpcContext): boolean {
  return bases.snapshotFor(block, view) !== undefined
}

/** The blocks under construction from `from` on; `pending` is only the newest. */
function unsealedFrom(from: BlockParameter, { blocks }: PreconfirmedSnapshot): readonly PendingBlock[] {
  if (from.kind === 'tag') return from.tag === 'pending' ? blocks.slice(-1) : blocks
  return from.kind === 'number' ? blocks.filter(({ environment }) => environment.number >= from.number) : blocks
}

function reachesSealed(from: BlockParameter, { head }: PreconfirmedSnapshot): boolean {
  if (from.kind === 'tag') return from.tag !== 'pending'
  return from.kind === 'number' && from.number <= head.number
}

function numbered(number: bigint): BlockParameter {
  return { kind: 'number', number }
}

function shown(block: BlockParameter): string {
  if (block.kind === 'number') return toQuantity(block.number)
  return block.kind === 'tag' ? block.tag : block.hash
}

/** geth's error. */
function invalidRange(): RpcError {
  return new RpcError(ErrorCode.invalidParams, 'invalid block range params')
}

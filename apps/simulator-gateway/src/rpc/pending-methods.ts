import type { BlockResolver } from '@upfront/head'
import { type PreconfirmedSnapshot } from '@upfront/preconfirmed'
import {
  DecodeError,
  decodeLogFilter,
  ErrorCode,
  type Hash,
  type LogFilter,
  Place,
  RpcError,
  toQuantity,
} from '@upfront/protocol'
import {
  type PendingBlock,
  presentPendingBlock,
  presentPendingLogs,
  presentPendingReceipt,
  presentPendingTransaction,
  presentPendingTransactionAt,
} from '@upfront/simulation'
import { answerStateOf } from '../pending/answer-state.js'
import type { Preconfirmed } from '../pending/preconfirmed.js'
import { indexOf, type PendingAnswersOptions, pendingAnswers } from './pending-answers.js'
import type { RpcContext, RpcMethod } from './rpc-method.js'

export interface PendingMethodsOptions extends PendingAnswersOptions {
  preconfirmed: Preconfirmed
  blocks: BlockResolver
}

/** Where each method has its block parameter. */
const BLOCK_AT = new Map([
  ['eth_call', 1],
  ['eth_estimateGas', 1],
  ['eth_feeHistory', 1],
  ['eth_getBalance', 1],
  ['eth_getBlockByNumber', 0],
  ['eth_getBlockReceipts', 0],
  ['eth_getBlockTransactionCountByNumber', 0],
  ['eth_getCode', 1],
  ['eth_getProof', 2],
  ['eth_getStorageAt', 2],
  ['eth_getTransactionByBlockNumberAndIndex', 0],
  ['eth_getTransactionCount', 1],
])

/** Methods that a pre-confirmed block can't answer, and why. */
const REFUSED = new Map([
  ['eth_feeHistory', 'a pre-confirmed block has no fee history yet'],
  ['eth_getProof', 'a pre-confirmed block has no state root to prove anything against'],
])

/**
 * The methods of `passed` that answer on pre-confirmed state where they are asked for `pending`, all of one request on the
 * same snapshot. What a snapshot can't answer is refused. Without a snapshot `pending` means the head.
 */
export function pendingMethods(
  options: PendingMethodsOptions,
  passed: ReadonlyMap<string, RpcMethod>,
): Map<string, RpcMethod> {
  const { preconfirmed, blocks, sends } = options
  const methods = new Map<string, RpcMethod>()
  const serve = (name: string, method: (pass: RpcMethod) => RpcMethod) => {
    const pass = passed.get(name)
    if (pass !== undefined) methods.set(name, method(pass))
  }
  const head = async (context: RpcContext) => {
    const { number } = await blocks.head(context)
    context.view.answerState = { kind: 'latest', block: number }
    return toQuantity(number)
  }
  const from = async (snapshot: PreconfirmedSnapshot, context: RpcContext, answer: () => unknown) => {
    context.view.answerState = answerStateOf(snapshot)
    return JSON.stringify((await decoded(answer)) ?? null)
  }
  const answers = pendingAnswers(options)
  for (const [name, at] of BLOCK_AT) {
    serve(name, (pass) => async (params, context) => {
      if (!Array.isArray(params) || !isPending(params[at])) return pass(params, context)
      const snapshot = preconfirmed.snapshotFor(context.view)
      if (!snapshot && sends && name === 'eth_getTransactionCount') return pass(params, context)
      if (!snapshot) return pass(params.with(at, await head(context)), context)
      return from(snapshot, context, () => {
        const answer = answers.get(name)
        if (answer === undefined) throw new RpcError(ErrorCode.serverError, `${REFUSED.get(name)}: ask at latest`)
        return answer(snapshot, params, context)
      })
    })
  }
  for (const [name, present] of BY_BLOCK_HASH) {
    serve(name, (pass) => async (params, context) => {
      const hash = hashOf(params)
      const snapshot = hash && preconfirmed.snapshotFor(context.view)
      const block = snapshot?.blocks.find((candidate) => candidate.hash === hash)
      if (!snapshot || !block) return pass(params, context)
      return from(snapshot, context, () => present(block, params as unknown[]))
    })
  }
  for (const [name, find] of [
    ['eth_getTransactionByHash', presentPendingTransaction],
    ['eth_getTransactionReceipt', presentPendingReceipt],
  ] as const) {
    serve(name, (pass) => async (params, context) => {
      const hash = hashOf(params)
      const snapshot = hash && preconfirmed.snapshotFor(context.view)
      const found = snapshot && find(snapshot.blocks, hash)
      return found ? from(snapshot, context, () => found) : pass(params, context)
    })
  }
  serve('eth_getLogs', (pass) => async (params, context) => {
    const filter: unknown = Array.isArray(params) ? params[0] : undefined
    if (typeof filter !== 'object' || filter === null) return pass(params, context)
    const { fromBlock, toBlock, blockHash } = filter as Record<string, unknown>
    const asksPending = isPending(fromBlock) || isPending(toBlock)
    const snapshot = asksPending || typeof blockHash === 'string' ? preconfirmed.snapshotFor(context.view) : undefined
    const block = snapshot?.blocks.find(({ hash }) => hash === blockHash)
    if (!asksPending && block === undefined) return pass(params, context)
    if (!snapshot) {
      const number = await head(context)
      const bounds = {
        ...(isPending(fromBlock) && { fromBlock: number }),
        ...(isPending(toBlock) && { toBlock: number }),
      }
      return pass([{ ...filter, ...bounds }], context)
    }
    return from(snapshot, context, () => {
      const wanted = decodeLogFilter(filter, new Place(undefined, 'params[0]'))
      return presentPendingLogs(block ? [block] : blocksBetween(wanted, snapshot), wanted)
    })
  })
  return methods
}

/** Methods that name a block by its hash, which may be that of a pre-confirmed one. */
const BY_BLOCK_HASH = new Map<string, (block: PendingBlock, params: unknown[]) => unknown>([
  ['eth_getBlockByHash', (block, params) => presentPendingBlock(block, params[1] === true)],
  ['eth_getBlockTransactionCountByHash', (block) => toQuantity(block.transactions.length)],
  ['eth_getTransactionByBlockHashAndIndex', (block, params) => presentPendingTransactionAt(block, indexOf(params))],
])

function isPending(block: unknown): boolean {
  return (
    block === 'pending' ||
    (typeof block === 'object' && block !== null && 'blockNumber' in block && block.blockNumber === 'pending')
  )
}

function hashOf(params: unknown): Hash | undefined {
  return Array.isArray(params) && typeof params[0] === 'string' ? (params[0].toLowerCase() as Hash) : undefined
}

/** @throws RpcError where the range holds sealed blocks too: their logs are the node's to tell */
function blocksBetween({ fromBlock, toBlock }: LogFilter, { blocks }: PreconfirmedSnapshot): readonly PendingBlock[] {
  const first =
    fromBlock?.kind === 'number' ? blocks.findIndex(({ environment }) => environment.number === fromBlock.number) : -1
  if (toBlock?.kind === 'tag' && toBlock.tag === 'pending') {
    if (fromBlock?.kind === 'tag' && fromBlock.tag === 'pending') return blocks.slice(-1)
    if (first >= 0) return blocks.slice(first)
  }
  throw new RpcError(
    ErrorCode.serverError,
    'logs of sealed and pre-confirmed blocks are not answered together: ask up to latest, and from pending to pending',
  )
}

async function decoded<T>(answer: () => T): Promise<Awaited<T>> {
  try {
    return await answer()
  } catch (error) {
    if (error instanceof DecodeError) throw new RpcError(ErrorCode.invalidParams, error.message)
    throw error
  }
}

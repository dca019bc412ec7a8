import type { BlockResolver } from '@upfront/head'
import { newestBlock, openingOf, type PreconfirmedSnapshot, parentOfNewest } from '@upfront/preconfirmed'
import {
  DecodeError,
  decodeAddress,
  decodeBytes32,
  decodeCallRequest,
  ErrorCode,
  type Hash,
  RpcError,
  toQuantity,
} from '@upfront/protocol'
import {
  type CallSite,
  type Driver,
  estimateGas,
  executeCall,
  type FailedCall,
  presentFailure,
  presentPendingBlock,
  presentPendingReceipt,
  presentPendingTransaction,
  ReadBudget,
  type StateRead,
} from '@upfront/simulation'
import type { ServedChain } from '../chain/served-chain.js'
import { answerStateOf } from '../pending/answer-state.js'
import type { Preconfirmed } from '../pending/preconfirmed.js'
import { type RequestLimits, readUntil } from '../simulate/simulator.js'
import type { RpcContext, RpcMethod } from './rpc-method.js'

export interface PendingMethodsOptions {
  preconfirmed: Preconfirmed
  blocks: BlockResolver
  driver: Driver
  served: ServedChain
  limits: RequestLimits
}

type Answer = (snapshot: PreconfirmedSnapshot, params: unknown[], context: RpcContext) => unknown

/** Where each method has its block parameter. */
const BLOCK_AT = new Map([
  ['eth_call', 1],
  ['eth_createAccessList', 1],
  ['eth_estimateGas', 1],
  ['eth_getBalance', 1],
  ['eth_getBlockByNumber', 0],
  ['eth_getBlockReceipts', 0],
  ['eth_getCode', 1],
  ['eth_getProof', 2],
  ['eth_getStorageAt', 2],
  ['eth_getTransactionCount', 1],
])

/**
 * The methods of `passed` that answer on pre-confirmed state where they are asked for `pending`, all of one request on the
 * same snapshot. Without a snapshot, and for a method that has no answer here, `pending` means the head.
 */
export function pendingMethods(
  options: PendingMethodsOptions,
  passed: ReadonlyMap<string, RpcMethod>,
): Map<string, RpcMethod> {
  const { preconfirmed, blocks } = options
  const answers = pendingAnswers(options)
  const methods = new Map<string, RpcMethod>()
  for (const [name, at] of BLOCK_AT) {
    const pass = passed.get(name)
    if (!pass) continue
    methods.set(name, async (params, context) => {
      if (!Array.isArray(params) || params[at] !== 'pending') return pass(params, context)
      const answer = answers.get(name)
      const snapshot = answer && preconfirmed.snapshotFor(context.view)
      if (!snapshot) {
        const { number } = await blocks.head(context)
        context.view.answerState = { kind: 'latest', block: number }
        return pass(params.with(at, toQuantity(number)), context)
      }
      context.view.answerState = answerStateOf(snapshot)
      return JSON.stringify((await decoded(() => answer(snapshot, params, context))) ?? null)
    })
  }
  for (const [name, find] of [
    ['eth_getTransactionByHash', presentPendingTransaction],
    ['eth_getTransactionReceipt', presentPendingReceipt],
  ] as const) {
    const pass = passed.get(name)
    if (!pass) continue
    methods.set(name, async (params, context) => {
      const hash =
        Array.isArray(params) && typeof params[0] === 'string' ? (params[0].toLowerCase() as Hash) : undefined
      const snapshot = preconfirmed.snapshotFor(context.view)
      const found = hash && snapshot && find(snapshot.blocks, hash)
      if (!found || !snapshot) return pass(params, context)
      context.view.answerState = answerStateOf(snapshot)
      return JSON.stringify(found)
    })
  }
  return methods
}

function pendingAnswers({ served, driver, limits }: PendingMethodsOptions): Map<string, Answer> {
  const within = ({ signal, deadline }: RpcContext) => ({
    budget: new ReadBudget(limits.upstreamReads, readUntil(deadline)),
    cancellation: { signal },
  })
  const site = async (snapshot: PreconfirmedSnapshot, context: RpcContext): Promise<CallSite> => ({
    driver,
    rules: await served.rules(context),
    base: parentOfNewest(snapshot),
    opening: openingOf(snapshot),
    state: snapshot.state,
    gasCap: limits.gas,
    answerBytes: limits.answerBytes,
    ...within(context),
  })
  const read = async (snapshot: PreconfirmedSnapshot, read: StateRead, context: RpcContext) =>
    (await driver.read([read], snapshot.state, within(context)))[0]
  const account = (params: unknown[]) => decodeAddress(params[0], undefined, 'params[0]')
  return new Map<string, Answer>([
    [
      'eth_getBalance',
      async (snapshot, params, context) =>
        toQuantity((await read(snapshot, { kind: 'balance', address: account(params) }, context)) as bigint),
    ],
    [
      'eth_getTransactionCount',
      async (snapshot, params, context) =>
        toQuantity((await read(snapshot, { kind: 'nonce', address: account(params) }, context)) as bigint),
    ],
    ['eth_getCode', (snapshot, params, context) => read(snapshot, { kind: 'code', address: account(params) }, context)],
    [
      'eth_getStorageAt',
      (snapshot, params, context) =>
        read(snapshot, { kind: 'storage', address: account(params), slot: slotOf(params[1]) }, context),
    ],
    ['eth_getBlockByNumber', (snapshot, params) => presentPendingBlock(newestBlock(snapshot), params[1] === true)],
    [
      'eth_getBlockReceipts',
      (snapshot) => newestBlock(snapshot).transactions.map(({ hash }) => presentPendingReceipt(snapshot.blocks, hash)),
    ],
    [
      'eth_call',
      async (snapshot, params, context) => {
        const result = await executeCall(decodeCallRequest(params), await site(snapshot, context))
        if (result.failed) throw refusal(result.failed)
        return result.returnData
      },
    ],
    [
      'eth_estimateGas',
      async (snapshot, params, context) => {
        const estimate = await estimateGas(decodeCallRequest(params), await site(snapshot, context))
        if ('failed' in estimate) throw refusal(estimate.failed)
        return toQuantity(estimate.gas)
      },
    ],
  ])
}

/** A slot as a quantity or as 32 bytes: nodes take both. */
function slotOf(value: unknown): Hash {
  if (typeof value === 'string' && /^0x[0-9a-f]{0,64}$/i.test(value))
    return `0x${value.slice(2).toLowerCase().padStart(64, '0')}`
  return decodeBytes32(value, undefined, 'params[1]')
}

/** A failed call as geth's `eth_call` answers it: 3 with the revert data, -32000 for a halt. */
function refusal(failed: FailedCall): RpcError {
  const error = presentFailure(failed, 'ethereum')
  if (typeof error !== 'object') return new RpcError(ErrorCode.serverError, 'execution failed')
  const { code, message, data } = error
  return code === ErrorCode.reverted ? new RpcError(code, message, data) : new RpcError(ErrorCode.serverError, message)
}

async function decoded<T>(answer: () => T): Promise<Awaited<T>> {
  try {
    return await answer()
  } catch (error) {
    if (error instanceof DecodeError) throw new RpcError(ErrorCode.invalidParams, error.message)
    throw error
  }
}

import { andThen, passThrough, type UpstreamClient } from '@upfront/node'
import { newestBlock, openingOf, type PreconfirmedSnapshot, parentOfNewest } from '@upfront/preconfirmed'
import {
  type Address,
  decodeAddress,
  decodeBytes32,
  decodeCallRequest,
  decodeQuantity,
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
  presentPendingTransactionAt,
  ReadBudget,
  type StateRead,
} from '@upfront/simulation'
import type { ServedChain } from '../chain/served-chain.js'
import { type RequestLimits, readUntil } from '../simulate/simulator.js'
import type { RpcContext } from './rpc-method.js'

export interface PendingAnswersOptions {
  driver: Driver
  served: ServedChain
  limits: RequestLimits
  client: UpstreamClient
  /** Transactions are sent through this gateway: the node's pool may know more of a sender than the snapshot. */
  sends: boolean
}

/** Answers one call on one snapshot. @throws RpcError, DecodeError */
export type PendingAnswer = (snapshot: PreconfirmedSnapshot, params: unknown[], context: RpcContext) => unknown

/** What the methods that name a block by its number or tag answer at `pending`, by name. */
export function pendingAnswers({
  served,
  driver,
  limits,
  client,
  sends,
}: PendingAnswersOptions): Map<string, PendingAnswer> {
  const within = ({ signal, deadline }: RpcContext) => ({
    budget: new ReadBudget(limits.upstreamReads, readUntil(deadline)),
    cancellation: { signal },
  })
  const rulesFor = async (context: RpcContext) => {
    const rules = await served.rules(context)
    if (rules.isUncertain) context.view.rulesAreUncertain = true
    return rules
  }
  const site = async (snapshot: PreconfirmedSnapshot, context: RpcContext): Promise<CallSite> => ({
    driver: {
      simulate: (plan, at, limits) =>
        andThen(driver.simulate(plan, at, limits), (answer) => {
          context.spend?.(answer)
          return answer
        }),
      read: driver.read.bind(driver),
    },
    rules: await rulesFor(context),
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
  return new Map<string, PendingAnswer>([
    [
      'eth_getBalance',
      async (snapshot, params, context) =>
        toQuantity((await read(snapshot, { kind: 'balance', address: account(params) }, context)) as bigint),
    ],
    [
      'eth_getTransactionCount',
      async (snapshot, params, context) => {
        const address = account(params)
        const executed = read(snapshot, { kind: 'nonce', address }, context) as Promise<bigint>
        const sent = sends ? countSent(client, address, context) : 0n
        const [inState, inPool] = await Promise.all([executed, sent])
        if (inPool > inState) return toQuantity(inPool)
        return toQuantity(inState)
      },
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
    ['eth_getBlockTransactionCountByNumber', (snapshot) => toQuantity(newestBlock(snapshot).transactions.length)],
    [
      'eth_getTransactionByBlockNumberAndIndex',
      (snapshot, params) => presentPendingTransactionAt(newestBlock(snapshot), indexOf(params)),
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

/** The sender's next nonce as the node's pool knows it. */
async function countSent(client: UpstreamClient, address: Address, context: RpcContext): Promise<bigint> {
  return decodeQuantity(
    await passThrough(client, 'eth_getTransactionCount', [address, 'pending'], context),
    64,
    undefined,
    'eth_getTransactionCount',
  )
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

/** @throws DecodeError where the second parameter is no index */
export function indexOf(params: unknown[]): bigint {
  return decodeQuantity(params[1], 64, undefined, 'params[1]')
}

import { type Awaitable, passThrough, type UpstreamClient } from '@upfront/node'
import {
  type Address,
  type CallRequest,
  DecodeError,
  decodeAddress,
  decodeBytes32,
  decodeCallRequest,
  decodeQuantity,
  ErrorCode,
  type Hash,
  RpcError,
  type StateParameter,
  toQuantity,
} from '@upfront/protocol'
import {
  type CallSite,
  estimateGas,
  executeCall,
  type FailedCall,
  presentFailure,
  presentRejection,
  ReadBudget,
  SimulationRejected,
  type StateRead,
  type StateValue,
} from '@upfront/simulation'
import { type SimulationBase, tracedBlock } from '../pending/simulation-base.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { runWithGrowingLimit } from '../simulate/run-limits.js'
import { readUntil } from '../simulate/simulation-context.js'
import { decoding, defaultToLatest, Overriding, onHeadOf, type Reading, stateParameter, timeOf } from './reading.js'

/** @throws RpcError, DecodeError */
interface StateMethod {
  /** Index of the block parameter. */
  at: number
  /** Reads the state of one block, sealed or under construction. */
  reads?: (params: unknown[], base: SimulationBase, context: RpcContext) => Promise<unknown>
  /** Executes on that state. */
  calls?: (params: unknown[], block: StateParameter, context: RpcContext) => Awaitable<unknown>
}

/**
 * The methods of `passed` that read a block's state or execute one call on it. They are answered here for held blocks and blocks under
 * construction, both in the same way; otherwise by the node.
 */
export function stateMethods(reading: Reading, passed: ReadonlyMap<string, RpcMethod>): Map<string, RpcMethod> {
  const { bases } = reading
  const overriding = new Overriding(passed)
  for (const [name, { at, reads, calls }] of answers(reading))
    overriding.serve(name, (pass) =>
      decoding(async (given, context) => {
        const { view } = context
        if (given.length < at) throw new DecodeError(undefined, `missing value for required argument ${given.length}`)
        const params = defaultToLatest(given, at)
        const block = stateParameter(params, at)
        const time = timeOf(context)
        const isAnsweredHere =
          block.kind === 'position' ||
          bases.snapshotFor(block, view) !== undefined ||
          (await bases.held(block, view, time)) !== undefined
        if (!isAnsweredHere) {
          // The node's `pending` also counts transactions in its pool.
          const countsPool = name === 'eth_getTransactionCount' && reading.sends
          return pass(countsPool ? params : await onHeadOf(reading, params, at, context), context)
        }
        const answered =
          calls?.(params, block, context) ??
          bases.withBase(block, view, time, async (base) => reads?.(params, base, context))
        return JSON.stringify(await answered)
      }),
    )
  return overriding.methods
}

function answers(reading: Reading): [string, StateMethod][] {
  const { simulator, driver, client, sends } = reading
  const read = async (
    read: StateRead,
    { state, cancellation }: SimulationBase,
    context: RpcContext,
  ): Promise<StateValue> => {
    const budget = new ReadBudget(context.limits.upstreamReads, readUntil(context.deadline))
    return (await driver.read([read], state, { budget, cancellation }))[0]!
  }
  const calling =
    <T>(work: (request: CallRequest, site: CallSite) => Promise<T>): NonNullable<StateMethod['calls']> =>
    (params, block, context) => {
      const { limits } = context
      const request = decodeCallRequest(params)
      return simulator.execute(block, limits, context, ({ rules, budget, taken, ...on }) => {
        const { state, cancellation } = on
        const site = { rules, budget, ...tracedBlock(on), state, cancellation, gasCap: limits.gas }
        const counted = simulator.countingDriver(taken)
        return runWithGrowingLimit(limits, context, (answerBytes) =>
          work(request, { ...site, driver: counted, answerBytes }),
        )
      })
    }
  const account = (params: unknown[]) => decodeAddress(params[0], undefined, 'params[0]')
  return [
    [
      'eth_getBalance',
      {
        at: 1,
        reads: async (params, base, context) =>
          toQuantity((await read({ kind: 'balance', address: account(params) }, base, context)) as bigint),
      },
    ],
    [
      'eth_getTransactionCount',
      {
        at: 1,
        reads: async (params, base, context) => {
          const address = account(params)
          const executed = read({ kind: 'nonce', address }, base, context) as Promise<bigint>
          const sent = sends && params[1] === 'pending' ? countSent(client, address, context) : 0n
          const [inState, inPool] = await Promise.all([executed, sent])
          if (inPool > inState) return toQuantity(inPool)
          return toQuantity(inState)
        },
      },
    ],
    [
      'eth_getCode',
      { at: 1, reads: (params, base, context) => read({ kind: 'code', address: account(params) }, base, context) },
    ],
    [
      'eth_getStorageAt',
      {
        at: 2,
        reads: (params, base, context) =>
          read({ kind: 'storage', address: account(params), slot: slotOf(params[1]) }, base, context),
      },
    ],
    [
      'eth_call',
      {
        at: 1,
        calls: calling(async (request, site) => {
          const { failed, returnData } = await executeCall(request, site).catch((error) => {
            if (!(error instanceof SimulationRejected)) throw error
            throw new RpcError(ErrorCode.serverError, presentRejection(error.rejection).message)
          })
          if (failed) throw refusal(failed)
          return returnData
        }),
      },
    ],
    [
      'eth_estimateGas',
      {
        at: 1,
        calls: calling(async (request, site) => {
          const estimate = await estimateGas(request, site)
          if ('failed' in estimate) throw refusal(estimate.failed)
          return toQuantity(estimate.gas)
        }),
      },
    ],
  ]
}

/** The sender's next nonce, including the node's pool. */
async function countSent(client: UpstreamClient, address: Address, context: RpcContext): Promise<bigint> {
  return decodeQuantity(
    JSON.parse(await passThrough(client, 'eth_getTransactionCount', [address, 'pending'], context)),
    64,
    undefined,
    'eth_getTransactionCount',
  )
}

/** A slot in hex of at most 32 bytes, with or without `0x`, as geth accepts it. */
function slotOf(value: unknown): Hash {
  const digits = typeof value === 'string' ? /^(?:0x)?([0-9a-f]{0,64})$/i.exec(value)?.[1] : undefined
  if (digits !== undefined) return `0x${digits.toLowerCase().padStart(64, '0')}`
  return decodeBytes32(value, undefined, 'params[1]')
}

/** The error of geth's `eth_call`: 3 with the revert data, -32000 for a halt. */
function refusal(failed: FailedCall): RpcError {
  const error = presentFailure(failed, 'ethereum')
  if (typeof error !== 'object') return new RpcError(ErrorCode.serverError, 'execution failed')
  const { code, message, data } = error
  return code === ErrorCode.reverted ? new RpcError(code, message, data) : new RpcError(ErrorCode.serverError, message)
}

const BLOCK_AT = 2

/** `eth_getProof`, if `passed` has it, by the node. `pending` is the head: a block under construction has no state root. */
export function proofMethods(reading: Reading, passed: ReadonlyMap<string, RpcMethod>): Map<string, RpcMethod> {
  const overriding = new Overriding(passed)
  overriding.serve('eth_getProof', (pass) =>
    decoding(async (given, context) => {
      const params = given.length < BLOCK_AT ? given : defaultToLatest(given, BLOCK_AT)
      return pass(params.length > BLOCK_AT ? await onHeadOf(reading, params, BLOCK_AT, context) : params, context)
    }),
  )
  return overriding.methods
}

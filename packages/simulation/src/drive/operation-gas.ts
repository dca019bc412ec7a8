import { type Address, type StateOverride, toQuantity } from '@upfront/protocol'
import { entryPointAbi, type PricedOperation } from '../accounts/entry-point.js'
import { type OperationCall, type OperationGas, operationEvent } from '../accounts/operation-call.js'
import { operationFrames } from '../accounts/operation-frames.js'
import { type CallRecord, type Frame, hasFailed } from '../engine/call-record.js'
import { search } from './least-gas.js'
import { bundleOf, withDefaults } from './make-operation-call.js'
import type { Rehearsal } from './rehearsal.js'

/** Limit of runs per operation. */
const MAX_RUNS = 128
/** The EntryPoint's constant of that name. */
const INNER_GAS_OVERHEAD = 10_000n
const RICH: bigint = 1n << 112n

/**
 * The smallest limits with which an operation's validation passes and its execution has the same effect. The signature is assumed valid,
 * because each limit changes the hash; if missing, the gas is that of the dummy signature. The sender gets enough funds for any limit.
 * @throws or rejects with what the runs do
 */
export async function findOperationGas(made: OperationCall, rehearsal: Rehearsal): Promise<OperationGas> {
  const abi = await entryPointAbi()
  const { operation, entryPoint } = made
  const overrides: StateOverride[] = [...made.overrides, { address: operation.sender, balance: RICH }]
  const start = withHighLimits(operation)
  let runs = 0
  const attempt = async (tried: PricedOperation) => {
    runs += 1
    const [record] = await rehearsal.run([bundleOf(tried, entryPoint, abi)], overrides)
    return { record: record!, outcome: outcomeOf(record!, tried) }
  }
  const reference = await attempt(start)
  if (reference.outcome === undefined) return {}
  const used = gasUsedIn(reference.record, start)
  let found = start
  const least = async (low: bigint, high: bigint, changed: (limit: bigint) => PricedOperation) => {
    const holds = async (limit: bigint) => (await attempt(changed(limit))).outcome === reference.outcome
    const limit = low === 0n && (await holds(0n)) ? 0n : await search(low, high, holds, () => runs < MAX_RUNS)
    if (limit !== undefined) found = changed(limit)
    return limit
  }
  const verificationGasLimit = await least(used.account, start.verificationGasLimit, (limit) => ({
    ...found,
    verificationGasLimit: limit,
  }))
  const callGasLimit = await least(oneBelow(used.execution), start.callGasLimit, (limit) => ({
    ...found,
    callGasLimit: limit,
  }))
  const ofPaymaster = (field: 'verificationGasLimit' | 'postOpGasLimit') => (limit: bigint) => ({
    ...found,
    paymaster: { ...found.paymaster!, [field]: limit },
  })
  const { paymaster } = start
  const paymasterVerificationGasLimit =
    paymaster && (await least(used.paymaster, paymaster.verificationGasLimit!, ofPaymaster('verificationGasLimit')))
  const paymasterPostOpGasLimit =
    paymaster && (await least(oneBelow(used.postOp), paymaster.postOpGasLimit!, ofPaymaster('postOpGasLimit')))
  const proof = await attempt(found)
  if (proof.outcome !== reference.outcome) return {}
  const charged = operationEvent(proof.record, entryPoint)
  // The bundle's gas that the EntryPoint does not measure.
  const beyond = charged && proof.record.gasUsed - (charged.actualGasUsed - found.preVerificationGas)
  const limits = {
    preVerificationGas: beyond,
    verificationGasLimit: verificationGasLimit && coverBundleGas(verificationGasLimit, proof.record, found),
    ...{ callGasLimit, paymasterVerificationGasLimit, paymasterPostOpGasLimit },
  }
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, limit]) => (limit === undefined ? [] : [[name, toQuantity(limit)]])),
  )
}

/** With high limits, and a price above zero, because paying the prefund costs gas. */
function withHighLimits(operation: PricedOperation): PricedOperation {
  const { verificationGasLimit: _, callGasLimit: __, paymaster, ...rest } = operation
  const high = withDefaults({
    ...rest,
    ...(paymaster && { paymaster: { address: paymaster.address, data: paymaster.data } }),
  })
  const most = (one: bigint | undefined, other: bigint | undefined) => ((one ?? 0n) > (other ?? 0n) ? one! : other!)
  return {
    ...high,
    verificationGasLimit: most(operation.verificationGasLimit, high.verificationGasLimit),
    callGasLimit: most(operation.callGasLimit, high.callGasLimit),
    // A paymaster's deposit may cover just the given limits, so use the lowest price.
    maxFeePerGas: paymaster || operation.maxFeePerGas === 0n ? 1n : operation.maxFeePerGas,
    maxPriorityFeePerGas: paymaster ? 0n : operation.maxPriorityFeePerGas,
  }
}

/**
 * Bundlers add up an operation's limits for the bundle's gas limit, so the sum must also cover the EntryPoint's own work and the gas it
 * holds back before the execution. Unused verification gas is not charged.
 * @param record of the bundle
 */
function coverBundleGas(
  limit: bigint,
  { frames: [top] }: CallRecord,
  { callGasLimit, paymaster }: PricedOperation,
): bigint {
  const ofPaymaster = (paymaster?.verificationGasLimit ?? 0n) + (paymaster?.postOpGasLimit ?? 0n)
  const keptBack = INNER_GAS_OVERHEAD + callGasLimit / 63n
  const lasting = (top?.gasUsed ?? 0n) + keptBack - callGasLimit - ofPaymaster
  return lasting > limit ? lasting : limit
}

function oneBelow(gas: bigint): bigint {
  return gas > 0n ? gas - 1n : 0n
}

function gasUsedIn(record: CallRecord, operation: PricedOperation) {
  const { creation, account, paymaster, execution, postOp } = operationFrames(record.frames, operation)
  const used = (frames: readonly Frame[] = []) => frames[0]?.gasUsed ?? 0n
  return {
    account: oneBelow(used(creation) + used(account)),
    paymaster: oneBelow(used(paymaster)),
    execution: used(execution),
    postOp: used(postOp),
  }
}

/** The operation's effect, apart from gas; undefined if the EntryPoint refused it. */
function outcomeOf(record: CallRecord, operation: PricedOperation): string | undefined {
  const [top] = record.frames
  if (top === undefined || hasFailed(top)) return undefined
  const { execution = [], postOp = [] } = operationFrames(record.frames, operation)
  const success = operationEvent(record, top.to as Address)?.success
  const frames = [...execution, ...postOp.slice(0, 1)].map(({ kind, to, value, logs, ...frame }) => ({
    ...{ kind, to, value: value?.toString(), hasFailed: hasFailed(frame as Frame) },
    logs: frame.depth > 2 || to === operation.sender ? logs : [],
  }))
  return JSON.stringify({ success, frames })
}

import { createAddressFromString } from '@ethereumjs/util'
import type { Address } from '@upfront/protocol'
import {
  type ExecutedCall,
  type ExecutedLog,
  type Failure,
  type Halt,
  type IndexedLog,
  isForkActive,
  type PlannedCall,
} from '@upfront/simulation'
import { isTransferLog } from '../evm/block-logs.js'
import { type HaltContext, haltOf } from '../evm/halt.js'
import { RecordingEvm } from '../evm/recording-evm.js'
import { delegationTarget, MAX_NONCE } from '../state/account-record.js'
import { bytesOf, EMPTY_BYTES, hexOf, uint64, uint256 } from '../state/bytes.js'
import { applyAuthorizations } from './authorizations.js'
import type { BlockContext } from './block-context.js'
import { type CallFees, effectiveFees } from './call-fees.js'
import { checkCall } from './check-call.js'
import { floorGas, intrinsicGas } from './intrinsic-gas.js'
import type { Machine } from './machine.js'
import type { CallTerms, ReadyCall } from './ready-call.js'

/** EIP-3529 */
const REFUND_QUOTIENT = 5n

export interface AppliedCall extends ExecutedCall {
  /** As a receipt has them: without transfer logs. */
  receiptLogs: ExecutedLog[]
}

type RunnableCall = ReadyCall & { input: Uint8Array; fees: CallFees; executionGas: bigint }

interface FrameResult {
  gasLeft: bigint
  refund: bigint
  returnData: Uint8Array
  logs: { all: IndexedLog[]; receipt: ExecutedLog[] }
  failure?: Failure
}

/**
 * Runs one call by the rules of a transaction, as geth does in a simulation: its nonce, and a fee below the base fee, matter
 * only under validation; whether the sender has code, and the gas cap of EIP-7825, never matter.
 * @throws CallRejected where it is no valid transaction; the state is unchanged then
 */
export async function applyCall(
  machine: Machine,
  context: BlockContext,
  terms: CallTerms,
  ready: ReadyCall,
): Promise<AppliedCall> {
  const { world, evm } = machine
  const { call, gas } = ready
  const input = bytesOf(call.input)
  const fees = effectiveFees(call, context.baseFee)
  const intrinsic = intrinsicGas(call, input, evm.fork)
  const floor = floorGas(input, evm.fork)
  await checkCall(machine, context, terms, { ...ready, fees, input, intrinsic, floor })
  const {
    gasLeft: left,
    refund,
    returnData,
    logs,
    failure,
  } = await runTopFrame(machine, context, terms, {
    ...ready,
    input,
    fees,
    executionGas: gas - intrinsic,
  })
  const beforeRefund = gas - left
  const refunded = beforeRefund - min(refund, beforeRefund / REFUND_QUOTIENT)
  const gasUsed = max(refunded, floor)
  await world.addBalance(call.from, (gas - gasUsed) * fees.gasPrice)
  const reward = uint256(gasUsed * fees.tip)
  // A fee of nothing touches its recipient too, as in geth: one that is empty but for overrides of its storage is gone then.
  if (reward > 0n || world.isKnownToExist(context.header.miner)) await world.addBalance(context.header.miner, reward)
  return {
    succeeded: failure === undefined,
    gasUsed,
    maxUsedGas: max(beforeRefund, floor),
    returnData: hexOf(returnData),
    logs: logs.all,
    receiptLogs: logs.receipt,
    ...(failure && { failure }),
  }
}

async function runTopFrame(
  machine: Machine,
  context: BlockContext,
  terms: CallTerms,
  ready: RunnableCall,
): Promise<FrameResult> {
  const { world, evm, journal, touched } = machine
  const { call, input, fees, executionGas } = ready
  warmUp(machine, context, call)
  const { nonce } = await world.account(call.from)
  if (call.to === null && nonce === MAX_NONCE) {
    if (call.value > 0n) evm.logs.countFailedTransfer()
    return { ...NOTHING_RAN, gasLeft: executionGas, failure: halted({ kind: 'nonceOverflow' }, ready) }
  }
  await world.update(call.from, { nonce: uint64(nonce + 1n) })
  let refund = 0n
  if (call.to !== null) {
    refund = await applyAuthorizations(call.authorizationList ?? [], terms.rules.chainId, world, journal, (authority) =>
      touched.account(authority),
    )
    await warmDelegate(machine, call.to)
  }
  if (evm instanceof RecordingEvm && evm.recorder) evm.recorder.refund = refund
  evm.deployed = undefined
  evm.priced = undefined
  const { execResult } = await evm.runCall({
    block: context.evmBlock,
    caller: createAddressFromString(call.from),
    ...(call.to !== null && { to: createAddressFromString(call.to) }),
    gasLimit: executionGas,
    gasPrice: fees.gasPrice,
    value: call.value,
    data: input,
    blobVersionedHashes: call.blobVersionedHashes ?? [],
    skipNonceIncrement: true,
  })
  const reverted = execResult.exceptionError?.error === 'revert' && execResult.runState !== undefined
  const frame: FrameResult = {
    gasLeft: executionGas - execResult.executionGasUsed,
    refund: refund + (execResult.gasRefund ?? 0n),
    returnData: execResult.exceptionError && !reverted ? EMPTY_BYTES : execResult.returnValue,
    logs: { all: [], receipt: [] },
  }
  if (execResult.exceptionError) {
    frame.failure = reverted ? { kind: 'revert' } : halted(haltOf(execResult, haltContext(machine, ready)), ready)
    return frame
  }
  const logs = execResult.logs ?? []
  frame.logs = {
    all: logs.map((log) => ({ ...executedLog(log), index: evm.logs.indexOf(log) })),
    receipt: logs.filter((log) => !isTransferLog(log)).map(executedLog),
  }
  const created = execResult.createdAddresses
  const onlyCreated = isForkActive(evm.fork, 'cancun')
  for (const [address] of execResult.selfdestruct ?? []) {
    if (!onlyCreated || created?.has(address)) machine.destroyed.add(address)
  }
  return frame
}

/** Warm from the start: EIP-2929, EIP-2930 and EIP-3651. */
export function warmUp(
  { evm, journal, touched }: Machine,
  { header }: BlockContext,
  call: Pick<PlannedCall, 'from' | 'to' | 'accessList'>,
): void {
  journal.cleanJournal()
  for (const address of evm.precompileAddresses) journal.warm(address)
  if (isForkActive(evm.fork, 'shanghai')) journal.warm(header.miner)
  for (const address of [call.from, ...(call.to === null ? [] : [call.to])]) {
    journal.warm(address)
    touched.account(address)
  }
  for (const { address, storageKeys } of call.accessList) {
    journal.warm(address)
    touched.account(address)
    for (const slot of storageKeys) {
      journal.warmSlot(address, slot)
      touched.slot(address, slot)
    }
  }
}

/** Of an account that delegates to another one, that one (EIP-7702). */
export async function warmDelegate({ evm, world, journal, touched }: Machine, to: Address): Promise<void> {
  if (!isForkActive(evm.fork, 'prague')) return
  const target = delegationTarget((await world.account(to)).code)
  if (target === undefined) return
  journal.warm(target)
  touched.account(target)
}

const NOTHING_RAN = { refund: 0n, returnData: EMPTY_BYTES, logs: { all: [], receipt: [] } }

function haltContext({ evm }: Machine, { call: { to }, input, executionGas }: RunnableCall): HaltContext {
  const precompile = to === null ? undefined : evm.originOf(to)
  return { fork: evm.fork, deployed: evm.deployed, priced: evm.priced, precompile, input, gas: executionGas }
}

function executedLog([address, topics, data]: [Uint8Array, Uint8Array[], Uint8Array]): ExecutedLog {
  return { address: hexOf(address), topics: topics.map(hexOf), data: hexOf(data) }
}

function halted(halt: Halt, { gasCapped }: ReadyCall): Failure {
  return { kind: 'halt', halt, isGasCapped: gasCapped }
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

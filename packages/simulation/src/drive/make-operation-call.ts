import type { Address, Call, Hex, StateOverride, UserOperation } from '@upfront/protocol'
import { assumeSignature } from '../accounts/assume-signature.js'
import type { ContractAbi } from '../accounts/contract-abi.js'
import {
  BUNDLER,
  entryPointAbi,
  getUserOpHash,
  handleOps,
  type PricedOperation,
  refusalIn,
} from '../accounts/entry-point.js'
import { failureMessage } from '../accounts/failure-message.js'
import { type OperationCall, operationEvent } from '../accounts/operation-call.js'
import { operationFrames, validationData } from '../accounts/operation-frames.js'
import { brokenRules } from '../accounts/validation-rules.js'
import { type CallRecord, hasFailed } from '../engine/call-record.js'
import type { Rehearsal } from './rehearsal.js'

/** Defaults for limits that an operation does not name, enough for any operation that bundlers accept. */
const GENEROUS = { verification: 5_000_000n, call: 7_000_000n, paymaster: 1_000_000n, postOp: 1_000_000n }
/** A dummy 65-byte signature that passes accounts' format checks. */
const STAND_IN: Hex = `0x${'f'.repeat(31)}${'0'.repeat(33)}7${'a'.repeat(63)}1c`
const RICH = 1n << 96n
const DAY = 86_400n

/** The operation with defaults for missing limits, prices and signature. */
export function withDefaults(operation: UserOperation): PricedOperation {
  const { paymaster } = operation
  return {
    verificationGasLimit: GENEROUS.verification,
    callGasLimit: GENEROUS.call,
    preVerificationGas: 0n,
    maxFeePerGas: 0n,
    maxPriorityFeePerGas: 0n,
    signature: STAND_IN,
    ...operation,
    ...(paymaster && {
      paymaster: { verificationGasLimit: GENEROUS.paymaster, postOpGasLimit: GENEROUS.postOp, ...paymaster },
    }),
  }
}

/** `handleOps` with one operation, sent by `BUNDLER`. */
export function bundleOf(operation: PricedOperation, entryPoint: Address, abi: ContractAbi): Call {
  const { authorization } = operation
  return {
    from: BUNDLER,
    to: entryPoint,
    input: handleOps(abi, operation),
    ...(authorization && { authorizationList: [authorization] }),
  }
}

/**
 * Makes the `handleOps` call of a user operation. If its signature is missing or invalid, overrides make the validation pass that change
 * nothing but the verdict.
 * @throws or rejects with what the runs do
 */
export async function makeOperationCall(
  given: UserOperation,
  entryPoint: Address,
  rehearsal: Rehearsal,
): Promise<OperationCall> {
  const abi = await entryPointAbi()
  const operation = withDefaults(given)
  const isUnsigned = given.signature === undefined
  const call = bundleOf(operation, entryPoint, abi)
  const bundler: StateOverride = { address: BUNDLER, balance: RICH }
  const entities = entitiesOf(operation)
  const [record, hash, ...deposits] = await rehearsal.run(
    [
      call,
      { to: entryPoint, input: getUserOpHash(abi, operation) },
      ...entities.map((entity) => ({ to: entryPoint, input: abi.encode('getDepositInfo', [entity]) })),
    ],
    [bundler],
  )
  const validation = operationFrames(record!.frames, operation)
  const made: OperationCall = {
    ...{ call, operation, entryPoint, validation, isUnsigned, isOpen: given.callGasLimit === undefined },
    overrides: [bundler],
    assumed: {},
    userOpHash: returnedHash(hash),
    rules: brokenRules(validation, record!, {
      entryPoint,
      sender: operation.sender,
      ...(operation.initCode.length >= 42 && { factory: operation.initCode.slice(0, 42) as Address }),
      ...(operation.paymaster && { paymaster: operation.paymaster.address }),
      staked: new Set(entities.filter((_, index) => isStaked(deposits[index]))),
      accountExisted: operation.initCode === '0x',
      keccak256: (bytes) => abi.keccak256(bytes),
    }),
  }
  await assumeSignatures(made, record!, rehearsal, abi)
  return made
}

/** Adds overrides for missing or invalid signatures until the EntryPoint accepts the operation, or refuses it for another reason. */
async function assumeSignatures(
  made: OperationCall,
  first: CallRecord,
  rehearsal: Rehearsal,
  abi: ContractAbi,
): Promise<void> {
  const { call, operation, entryPoint, isUnsigned, assumed } = made
  for (let record = first; ; ) {
    const refusal = refusalOf(record, entryPoint, abi)
    if (refusal === undefined) return
    const found = operationFrames(record.frames, operation)
    const before = made.overrides.length
    if (assumed.account === undefined) {
      const verdict = validationData(found.account?.[0], 0)?.signature
      const hasReverted = found.account !== undefined && hasFailed(found.account[0]!)
      const kind = verdict === 'invalid' ? 'signature' : isUnsigned && hasReverted ? 'validation' : undefined
      const more = kind && assumeSignature('account', kind, found.account!, record, entryPoint)
      if (kind !== undefined && more !== undefined) {
        assumed.account = kind
        made.overrides.push(...more)
      }
    }
    if (assumed.paymaster === undefined && validationData(found.paymaster?.[0], 1)?.signature === 'invalid') {
      const more = assumeSignature('paymaster', 'signature', found.paymaster!, record, entryPoint)
      if (more !== undefined) {
        assumed.paymaster = 'signature'
        made.overrides.push(...more)
      }
    }
    if (made.overrides.length === before) {
      made.refusal = refusal
      return
    }
    record = (await rehearsal.run([call], made.overrides))[0]!
  }
}

function refusalOf(record: CallRecord, entryPoint: Address, abi: ContractAbi): OperationCall['refusal'] {
  const [top] = record.frames
  const failure = top && failureMessage(top)
  if (failure !== undefined) return refusalIn(abi, top!.output) ?? { reason: failure }
  return operationEvent(record, entryPoint) === undefined
    ? { reason: 'no EntryPoint of v0.7 or later is at this address' }
    : undefined
}

function entitiesOf({ sender, initCode, paymaster }: UserOperation): Address[] {
  const factory = initCode.length >= 42 ? [initCode.slice(0, 42) as Address] : []
  return [sender, ...factory, ...(paymaster ? [paymaster.address] : [])]
}

function returnedHash(record: CallRecord | undefined): Hex | undefined {
  const [frame] = record?.frames ?? []
  return frame === undefined || hasFailed(frame) || frame.output.length !== 66 ? undefined : frame.output
}

/** Decodes DepositInfo: `deposit`, `staked`, `stake`, `unstakeDelaySec`, `withdrawTime`, one word each. */
function isStaked(record: CallRecord | undefined): boolean {
  const [frame] = record?.frames ?? []
  if (frame === undefined || hasFailed(frame) || frame.output.length < 2 + 5 * 64) return false
  const word = (index: number) => BigInt(`0x${frame.output.slice(2 + index * 64, 66 + index * 64)}`)
  return word(1) === 1n && word(3) >= DAY
}

import { type Address, type Hash, type Hex, toQuantity } from '@upfront/protocol'
import { type AssetChanges, type AssetQuestions, assetChanges } from '../assets/asset-changes.js'
import { assetEvents } from '../assets/asset-events.js'
import { type CallRecord, type Frame, hasFailed } from '../engine/call-record.js'
import type { Assumed } from './assume-signature.js'
import { failureMessage } from './failure-message.js'
import { type OperationCall, type OperationGas, operationEvent } from './operation-call.js'
import { operationFrames, type ValidationData, validationData } from './operation-frames.js'
import type { SafeCall } from './safe-call.js'
import type { BrokenRule } from './validation-rules.js'

/** The result of a validation, without anything assumed. */
export interface ShownValidation {
  status: Hex
  /** `missing`: the operation has no signature; a 65-byte dummy was used. */
  signature?: ValidationData['signature'] | 'missing'
  /** What the rest of the simulation assumes about it. */
  assumed?: Assumed
  gasUsed: Hex
  aggregator?: Hex
  validAfter?: Hex
  validUntil?: Hex
  error?: string
}

/** The result of the execution or of `postOp`. */
export interface ShownPart {
  status: Hex
  gasUsed: Hex
  returnData: Hex
  error?: string
  /** Transfers and approvals of this part, if the request asks for asset changes. */
  transfers?: AssetChanges['transfers']
  approvals?: AssetChanges['approvals']
}

/** A user operation's details, next to the result of its `handleOps` call. */
export interface ShownOperation {
  userOpHash?: Hash
  sender: Address
  entryPoint: Address
  /** 1 if the EntryPoint accepted it and its execution succeeded. */
  status: Hex
  /** The EntryPoint's refusal despite the assumptions, such as `AA21 didn't pay prefund`. */
  refusal?: string
  /** Of the account, deployment by its factory included. */
  validation?: ShownValidation
  paymaster?: ShownValidation & { address: Address }
  /** ERC-7562 rules that the validation breaks. */
  brokenRules: BrokenRule[]
  execution?: ShownPart
  postOp?: ShownPart
  actualGasUsed?: Hex
  /** Wei. */
  actualGasCost?: Hex
  gasLimits?: OperationGas
}

/** A Safe transaction's details, next to the result of its `execTransaction` call. */
export interface ShownSafeTransaction {
  safe: Address
  version: string
  safeTxHash: Hash
  nonce: Hex
  /** The Safe's current nonce. Transactions with lower nonces have to be executed first. */
  nextNonce: Hex
  threshold: Hex
  /** In ascending order. */
  owners: Address[]
  guard?: Address
  /** Whether the guard was called. */
  isGuarded: boolean
  /** 1 if the owners' call succeeded. `execTransaction` may succeed even if that call fails. */
  status: Hex
  error?: string
}

/** Decodes revert data to a message, if it is known. */
export type Explain = (data: Hex) => Promise<string | undefined>

/** @param asked questions about what the call moved, if assets are wanted */
export async function shownOperation(
  made: OperationCall,
  record: CallRecord,
  explain: Explain,
  asked: AssetQuestions | undefined,
  gasLimits: OperationGas | undefined,
): Promise<ShownOperation> {
  const { operation, entryPoint, validation, isUnsigned, isOpen, assumed, userOpHash, rules, refusal } = made
  const event = operationEvent(record, entryPoint)
  const ran = operationFrames(record.frames, operation)
  const isDone = event?.success === true
  const part = (frames: readonly Frame[] | undefined, shows: boolean) =>
    frames && shownPart(frames, record, explain, shows ? asked : undefined, isDone)
  const [account, paymaster] = [validation.account?.[0], validation.paymaster?.[0]]
  const [execution, postOp] = [await part(ran.execution, true), await part(ran.postOp, false)]
  return {
    ...(userOpHash !== undefined && { userOpHash: userOpHash as Hash }),
    sender: operation.sender,
    entryPoint,
    status: isDone ? '0x1' : '0x0',
    ...(refusal !== undefined && { refusal: await refusalMessage(refusal, explain) }),
    ...(account !== undefined && {
      validation: await shownValidation(account, 0, explain, {
        ...(assumed.account !== undefined && { assumed: assumed.account }),
        ...(isUnsigned && { signature: 'missing' }),
        gasUsed: toQuantity(account.gasUsed + (validation.creation?.[0]?.gasUsed ?? 0n)),
      }),
    }),
    ...(operation.paymaster !== undefined &&
      paymaster !== undefined && {
        paymaster: {
          address: operation.paymaster.address,
          ...(await shownValidation(paymaster, 1, explain, {
            ...(assumed.paymaster !== undefined && { assumed: assumed.paymaster }),
          })),
        },
      }),
    brokenRules: rules,
    ...(execution !== undefined && { execution }),
    ...(postOp !== undefined && { postOp }),
    ...(event !== undefined &&
      !isOpen && {
        actualGasUsed: toQuantity(event.actualGasUsed),
        actualGasCost: toQuantity(event.actualGasCost),
      }),
    ...(gasLimits !== undefined && { gasLimits }),
  }
}

async function shownValidation(
  frame: Frame,
  word: number,
  explain: Explain,
  known: Partial<ShownValidation>,
): Promise<ShownValidation> {
  const { signature, aggregator, validAfter, validUntil } = validationData(frame, word) ?? {}
  const error = await frameMessage(frame, explain)
  return {
    status: hasFailed(frame) ? '0x0' : '0x1',
    gasUsed: toQuantity(frame.gasUsed),
    ...(signature !== undefined && { signature }),
    ...known,
    ...(aggregator !== undefined && { aggregator }),
    ...(validAfter !== undefined && { validAfter: toQuantity(validAfter) }),
    ...(validUntil !== undefined && { validUntil: toQuantity(validUntil) }),
    ...(error !== undefined && { error }),
  }
}

async function shownPart(
  frames: readonly Frame[],
  record: CallRecord,
  explain: Explain,
  asked: AssetQuestions | undefined,
  isDone: boolean,
): Promise<ShownPart> {
  const [frame] = frames as [Frame]
  const error = await frameMessage(frame, explain)
  const events = asked && (isDone ? assetEvents({ frames: [...frames] }) : { transfers: [], approvals: [] })
  const [moved] = events ? assetChanges([{ ...asked, events }], [record]) : []
  return {
    status: hasFailed(frame) ? '0x0' : '0x1',
    gasUsed: toQuantity(frame.gasUsed),
    returnData: frame.output,
    ...(error !== undefined && { error }),
    ...(moved && { transfers: moved.transfers, approvals: moved.approvals }),
  }
}

async function refusalMessage({ reason, inner }: { reason: string; inner?: Hex }, explain: Explain): Promise<string> {
  const because = inner === undefined || inner === '0x' ? undefined : await explain(inner)
  return because === undefined ? reason : `${reason}: ${because}`
}

async function frameMessage(frame: Frame, explain: Explain): Promise<string | undefined> {
  const words = failureMessage(frame)
  if (words !== 'execution reverted' || frame.output === '0x') return words
  const known = await explain(frame.output)
  return known === undefined ? words : `${words}: ${known}`
}

/** @param record of `execTransaction`, with frames */
export async function shownSafeTransaction(
  { transaction, version, safeTxHash, nonce, nextNonce, threshold, owners, guard }: SafeCall,
  { frames }: CallRecord,
  explain: Explain,
): Promise<ShownSafeTransaction> {
  const { safe, to } = transaction
  const [top] = frames
  const isDone = top !== undefined && !hasFailed(top) && /1$/.test(top.output)
  // The Safe's singleton, called by its proxy, makes the owners' call.
  const failed = frames.find((frame) => frame.depth > 0 && frame.depth <= 2 && frame.to === to && hasFailed(frame))
  const error = isDone || top === undefined ? undefined : await frameMessage(failed ?? top, explain)
  return {
    ...{ safe, version, safeTxHash, nonce: toQuantity(nonce), nextNonce: toQuantity(nextNonce) },
    ...{ threshold: toQuantity(threshold), owners },
    ...(guard !== undefined && { guard }),
    isGuarded: guard !== undefined && transaction.guard,
    status: isDone ? '0x1' : '0x0',
    ...(error !== undefined && { error }),
  }
}

import { GAS_PER_BLOB, isForkActive, type PlannedCall, type TransactionFault } from '@upfront/simulation'
import { MAX_NONCE } from '../state/account-record.js'
import { uint256 } from '../state/bytes.js'
import type { BlockContext } from './block-context.js'
import type { CallFees } from './call-fees.js'
import { CallRejected } from './call-rejected.js'
import type { Machine } from './machine.js'
import type { CallTerms, ReadyCall } from './ready-call.js'

const MAX_UINT256 = (1n << 256n) - 1n
/** EIP-3860, bytes. */
const MAX_INIT_CODE = 49_152
/** EIP-7594, for each transaction. */
const MAX_BLOBS = 6

type CheckedCall = ReadyCall & { fees: CallFees; input: Uint8Array; intrinsic: bigint; floor: bigint }

/**
 * Makes geth's checks in geth's order, then takes the price of all gas and of blobs from the sender.
 * @throws CallRejected
 */
export async function checkCall(
  { world, evm: { fork } }: Machine,
  context: BlockContext,
  { validation }: CallTerms,
  ready: CheckedCall,
): Promise<void> {
  const { call, gas, nonce, fees, input, intrinsic, floor } = ready
  const sender = await world.account(call.from)
  const refuseFor = (fault: TransactionFault | undefined) => {
    if (fault) throw new CallRejected({ kind: 'transaction', from: call.from, gas, fault })
  }
  if (validation) refuseFor(nonceFault(nonce, sender.nonce))
  refuseFor(priceFault(fees, context.baseFee, validation))
  refuseFor(blobFault(call, context, validation, fork))
  refuseFor(authorizationFault(call, fork))
  if (call.to === null && isForkActive(fork, 'shanghai') && input.length > MAX_INIT_CODE) {
    refuseFor({ kind: 'initCodeTooLarge', size: input.length })
  }
  const blobs = isForkActive(fork, 'cancun') ? (call.blobVersionedHashes?.length ?? 0) : 0
  const blobGas = BigInt(blobs) * GAS_PER_BLOB
  const prepaid = gas * fees.gasPrice + blobGas * context.blobBaseFee
  const want = gas * fees.cap + call.value + blobGas * (call.maxFeePerBlobGas ?? 0n)
  if (prepaid > MAX_UINT256 || want > MAX_UINT256) refuseFor({ kind: 'priceOverflow' })
  if (sender.balance < want) refuseFor({ kind: 'insufficientFunds', have: sender.balance, want })
  if (gas < intrinsic) refuseFor({ kind: 'intrinsicGas', want: intrinsic })
  if (gas < floor) refuseFor({ kind: 'floorGas', want: floor })
  const balance = uint256(sender.balance - prepaid)
  if (call.value > 0n && balance < call.value) refuseFor({ kind: 'insufficientFundsForTransfer' })
  await world.update(call.from, { balance })
}

type Fault = TransactionFault | undefined

function nonceFault(nonce: bigint, expected: bigint): Fault {
  if (nonce > expected) return { kind: 'nonceTooHigh', nonce, expected }
  if (nonce < expected) return { kind: 'nonceTooLow', nonce, expected }
  return expected === MAX_NONCE ? { kind: 'nonceHasMaxValue', nonce } : undefined
}

function priceFault({ cap, tipCap }: CallFees, baseFee: bigint, validation: boolean): Fault {
  if (!validation && cap === 0n && tipCap === 0n) return undefined
  if (cap < tipCap) return { kind: 'tipAboveFeeCap', tip: tipCap, cap }
  return cap < baseFee ? { kind: 'feeCapBelowBaseFee', cap, baseFee } : undefined
}

function blobFault(
  { to, blobVersionedHashes: hashes, maxFeePerBlobGas: cap = 0n }: PlannedCall,
  { blobBaseFee }: BlockContext,
  validation: boolean,
  fork: Machine['evm']['fork'],
): Fault {
  if (!hashes) return undefined
  if (!isForkActive(fork, 'cancun')) return { kind: 'blobsUnsupported' }
  if (to === null) return { kind: 'blobsOfCreation' }
  if (hashes.length === 0) return { kind: 'noBlobHashes' }
  if (isForkActive(fork, 'osaka') && hashes.length > MAX_BLOBS) return { kind: 'tooManyBlobs' }
  const index = hashes.findIndex((hash) => !hash.startsWith('0x01'))
  if (index !== -1) return { kind: 'blobHashVersion', index }
  return (validation || cap > 0n) && cap < blobBaseFee ? { kind: 'blobFeeCapTooLow', cap, blobBaseFee } : undefined
}

function authorizationFault({ authorizationList, to }: PlannedCall, fork: Machine['evm']['fork']): Fault {
  if (!authorizationList) return undefined
  if (!isForkActive(fork, 'prague')) return { kind: 'setCodeUnsupported' }
  if (to === null) return { kind: 'setCodeOfCreation' }
  return authorizationList.length === 0 ? { kind: 'noAuthorizations' } : undefined
}

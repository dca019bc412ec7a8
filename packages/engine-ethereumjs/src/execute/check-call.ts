import { ErrorCode, type Hash } from '@upfront/protocol'
import { GAS_PER_BLOB, isForkActive, type PlannedCall } from '@upfront/simulation'
import { MAX_NONCE } from '../state/account-record.js'
import { uint256 } from '../state/bytes.js'
import type { BlockContext } from './block-context.js'
import type { CallFees } from './call-fees.js'
import { CallRejected } from './call-rejected.js'
import { checksumAddress } from './checksum-address.js'
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
  { world, evm }: Machine,
  context: BlockContext,
  terms: CallTerms,
  ready: CheckedCall,
): Promise<void> {
  const { call, gas, nonce, fees, input, intrinsic, floor } = ready
  const who = `address ${checksumAddress(call.from)}`
  const sender = await world.account(call.from)
  if (terms.validation) checkNonce(nonce, sender.nonce, who)
  checkPrice(fees, context.baseFee, terms.validation, who)
  const blobHashes = checkBlobs(call, context, terms.validation, who, evm.fork)
  checkAuthorizationList(call, isForkActive(evm.fork, 'prague'))
  if (call.to === null && isForkActive(evm.fork, 'shanghai') && input.length > MAX_INIT_CODE) {
    throw new CallRejected(
      ErrorCode.initCodeTooLarge,
      `max initcode size exceeded: code size ${input.length} limit ${MAX_INIT_CODE}`,
    )
  }
  const blobGas = isForkActive(evm.fork, 'cancun') ? BigInt(blobHashes.length) * GAS_PER_BLOB : 0n
  const prepaid = payable(who, gas * fees.gasPrice) + payable(who, blobGas * context.blobBaseFee)
  const wanted = payable(who, gas * fees.cap + call.value + blobGas * (call.maxFeePerBlobGas ?? 0n))
  payable(who, prepaid)
  if (sender.balance < wanted) {
    throw new CallRejected(
      ErrorCode.insufficientFunds,
      `insufficient funds for gas * price + value: ${who} have ${sender.balance} want ${wanted}`,
    )
  }
  if (gas < intrinsic) {
    throw new CallRejected(ErrorCode.intrinsicGas, `intrinsic gas too low: have ${gas}, want ${intrinsic}`)
  }
  if (gas < floor) {
    throw new CallRejected(
      ErrorCode.internalError,
      `insufficient gas for floor data gas cost: have ${gas}, want ${floor}`,
    )
  }
  const balance = uint256(sender.balance - prepaid)
  if (call.value > 0n && balance < call.value) {
    throw new CallRejected(ErrorCode.insufficientFunds, `insufficient funds for transfer: ${who}`)
  }
  await world.update(call.from, { balance })
}

function checkNonce(nonce: bigint, expected: bigint, who: string): void {
  if (nonce > expected) {
    throw new CallRejected(ErrorCode.nonceTooHigh, `nonce too high: ${who}, tx: ${nonce} state: ${expected}`)
  }
  if (nonce < expected) {
    throw new CallRejected(ErrorCode.nonceTooLow, `nonce too low: ${who}, tx: ${nonce} state: ${expected}`)
  }
  if (expected === MAX_NONCE) {
    throw new CallRejected(ErrorCode.internalError, `nonce has max value: ${who}, nonce: ${expected}`)
  }
}

function checkPrice({ cap, tipCap }: CallFees, baseFee: bigint, validation: boolean, who: string): void {
  if (!validation && cap === 0n && tipCap === 0n) return
  if (cap < tipCap) {
    throw new CallRejected(
      ErrorCode.invalidParams,
      `max priority fee per gas higher than max fee per gas: ${who}, maxPriorityFeePerGas: ${tipCap}, maxFeePerGas: ${cap}`,
    )
  }
  if (cap < baseFee) {
    throw new CallRejected(
      ErrorCode.baseFeeTooLow,
      `max fee per gas less than block base fee: ${who}, maxFeePerGas: ${cap}, baseFee: ${baseFee}`,
    )
  }
}

function checkBlobs(
  call: PlannedCall,
  { blobBaseFee }: BlockContext,
  validation: boolean,
  who: string,
  fork: Machine['evm']['fork'],
): Hash[] {
  const { blobVersionedHashes: hashes, maxFeePerBlobGas: cap = 0n } = call
  if (!hashes) return []
  const invalid = (message: string) => new CallRejected(ErrorCode.internalError, message)
  if (!isForkActive(fork, 'cancun'))
    throw invalid(`transaction type not supported: blob tx (sender ${checksumAddress(call.from)})`)
  if (call.to === null) throw invalid('blob transaction of type create')
  if (hashes.length === 0) throw invalid('blob transaction missing blob hashes')
  if (isForkActive(fork, 'osaka') && hashes.length > MAX_BLOBS) throw invalid('blob transaction has too many blobs')
  const wrong = hashes.findIndex((hash) => !hash.startsWith('0x01'))
  if (wrong !== -1) throw invalid(`blob ${wrong} has invalid hash version`)
  if ((validation || cap > 0n) && cap < blobBaseFee) {
    throw invalid(
      `max fee per blob gas less than block blob gas fee: ${who} blobGasFeeCap: ${cap}, blobBaseFee: ${blobBaseFee}`,
    )
  }
  return hashes
}

function checkAuthorizationList({ authorizationList, from, to }: PlannedCall, prague: boolean): void {
  if (!authorizationList) return
  const invalid = (message: string) => new CallRejected(ErrorCode.internalError, message)
  if (!prague) throw invalid(`transaction type not supported: setcode tx (sender ${checksumAddress(from)})`)
  if (to === null)
    throw invalid(`EIP-7702 transaction cannot be used to create contract (sender ${checksumAddress(from)})`)
  if (authorizationList.length === 0)
    throw invalid(`EIP-7702 transaction with empty auth list (sender ${checksumAddress(from)})`)
}

function payable(who: string, amount: bigint): bigint {
  if (amount <= MAX_UINT256) return amount
  throw new CallRejected(
    ErrorCode.insufficientFunds,
    `insufficient funds for gas * price + value: ${who} required balance exceeds 256 bits`,
  )
}

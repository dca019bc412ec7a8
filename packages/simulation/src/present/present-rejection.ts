import { ErrorCode } from '@upfront/protocol'
import { checksumAddress } from 'viem'
import type { Rejection, RequestQueue, TransactionFault } from '../engine/simulation-rejected.js'
import { haltMessage } from './halt-message.js'

const DEPOSIT_BYTES = 576

/** Wraps a transaction fault's message as the method's geth implementation does. @param gas limit of the transaction */
export type Wording = (words: string, gas: bigint) => string

const IN_CALL: Wording = (words, gas) => `err: ${words} (supplied gas ${gas})`

/**
 * A rejection's error code, and geth's message (core/state_transition.go, internal/ethapi).
 * @param wording of the method; by default that of `eth_simulateV1` and `eth_call`
 */
export function presentRejection(
  rejection: Rejection,
  wording: Wording = IN_CALL,
): { code: ErrorCode; message: string } {
  switch (rejection.kind) {
    case 'transaction': {
      const { from, gas, fault } = rejection
      const words = transactionMessage(fault, checksumAddress(from), gas)
      return { code: CODES[fault.kind] ?? ErrorCode.internalError, message: wording(words, gas) }
    }
    case 'blockGasLimit':
      return {
        code: ErrorCode.blockGasLimitReached,
        message: `block gas limit reached: remaining: ${rejection.left}, required: ${rejection.asked}`,
      }
    default:
      return { code: ErrorCode.serverError, message: blockMessage(rejection) }
  }
}

/** Faults with an error code of their own in geth. */
const CODES: { [K in TransactionFault['kind']]?: ErrorCode } = {
  nonceTooHigh: ErrorCode.nonceTooHigh,
  nonceTooLow: ErrorCode.nonceTooLow,
  tipAboveFeeCap: ErrorCode.invalidParams,
  feeCapBelowBaseFee: ErrorCode.baseFeeTooLow,
  initCodeTooLarge: ErrorCode.initCodeTooLarge,
  priceOverflow: ErrorCode.insufficientFunds,
  insufficientFunds: ErrorCode.insufficientFunds,
  insufficientFundsForTransfer: ErrorCode.insufficientFunds,
  intrinsicGas: ErrorCode.intrinsicGas,
}

function transactionMessage(fault: TransactionFault, from: string, gas: bigint): string {
  const who = `address ${from}`
  switch (fault.kind) {
    case 'nonceTooHigh':
      return `nonce too high: ${who}, tx: ${fault.nonce} state: ${fault.expected}`
    case 'nonceTooLow':
      return `nonce too low: ${who}, tx: ${fault.nonce} state: ${fault.expected}`
    case 'nonceHasMaxValue':
      return `nonce has max value: ${who}, nonce: ${fault.nonce}`
    case 'tipAboveFeeCap':
      return `max priority fee per gas higher than max fee per gas: ${who}, maxPriorityFeePerGas: ${fault.tip}, maxFeePerGas: ${fault.cap}`
    case 'feeCapBelowBaseFee':
      return `max fee per gas less than block base fee: ${who}, maxFeePerGas: ${fault.cap}, baseFee: ${fault.baseFee}`
    case 'blobsUnsupported':
      return `transaction type not supported: blob tx (sender ${from})`
    case 'blobsOfCreation':
      return 'blob transaction of type create'
    case 'noBlobHashes':
      return 'blob transaction missing blob hashes'
    case 'tooManyBlobs':
      return 'blob transaction has too many blobs'
    case 'blobHashVersion':
      return `blob ${fault.index} has invalid hash version`
    case 'blobFeeCapTooLow':
      return `max fee per blob gas less than block blob gas fee: ${who} blobGasFeeCap: ${fault.cap}, blobBaseFee: ${fault.blobBaseFee}`
    case 'setCodeUnsupported':
      return `transaction type not supported: setcode tx (sender ${from})`
    case 'setCodeOfCreation':
      return `EIP-7702 transaction cannot be used to create contract (sender ${from})`
    case 'noAuthorizations':
      return `EIP-7702 transaction with empty auth list (sender ${from})`
    case 'initCodeTooLarge':
      return `max initcode size exceeded: code size ${fault.size} limit ${fault.limit}`
    case 'priceOverflow':
      return `insufficient funds for gas * price + value: ${who} required balance exceeds 256 bits`
    case 'insufficientFunds':
      return `insufficient funds for gas * price + value: ${who} have ${fault.have} want ${fault.want}`
    case 'insufficientFundsForTransfer':
      return `insufficient funds for transfer: ${who}`
    case 'intrinsicGas':
      return `intrinsic gas too low: have ${gas}, want ${fault.want}`
    case 'floorGas':
      return `insufficient gas for floor data gas cost: have ${gas}, want ${fault.want}`
  }
}

const QUEUES: Readonly<Record<RequestQueue, string>> = {
  withdrawal: 'withdrawal',
  consolidation: 'consolidation',
  builderDeposit: 'builder deposit',
  builderExit: 'builder exit',
}

function blockMessage(rejection: Exclude<Rejection, { kind: 'transaction' | 'blockGasLimit' }>): string {
  switch (rejection.kind) {
    case 'takenByPrecompile':
      return `account ${checksumAddress(rejection.address)} has already been overridden by a precompile`
    case 'notPrecompile':
      return `account ${checksumAddress(rejection.address)} is not a precompile`
    case 'alreadyOverridden':
      return `account ${checksumAddress(rejection.address)} is already overridden`
    case 'nativePrecompile':
      return `${rejection.address} is a native precompile of this chain (B20), which is not simulated`
    case 'depositLength':
      return `failed to parse deposit logs: unable to parse deposit data: deposit wrong length: want ${DEPOSIT_BYTES}, have ${rejection.length}`
    case 'requestQueue': {
      const { queue, halt } = rejection
      const why = halt === undefined ? 'execution reverted' : haltMessage(halt)
      return `failed to process ${QUEUES[queue]} queue: system call failed to execute: ${why}`
    }
  }
}

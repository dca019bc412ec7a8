import type { Address } from '@upfront/protocol'
import type { Halt } from './halt.js'

/** Why a simulation can't be executed. `presentRejection` returns geth's message. */
export type Rejection =
  /** A call that is no valid transaction; `gas` is its limit. */
  | { kind: 'transaction'; from: Address; gas: bigint; fault: TransactionFault }
  /** A call that asks for more gas than the block has left. */
  | { kind: 'blockGasLimit'; left: bigint; asked: bigint }
  /** An override of an address that an earlier `movePrecompileToAddress` named, or a move of a non-precompile or onto another override. */
  | { kind: 'takenByPrecompile' | 'notPrecompile' | 'alreadyOverridden'; address: Address }
  /** A call that reaches code native to the chain's nodes (Base's B20). */
  | { kind: 'nativePrecompile'; address: Address }
  /** Length of a deposit event's data (EIP-6110), which is malformed. */
  | { kind: 'depositLength'; length: number }
  /** The system call to a request queue failed; without `halt` it reverted. */
  | { kind: 'requestQueue'; queue: RequestQueue; halt?: Halt }

export type RequestQueue = 'withdrawal' | 'consolidation' | 'builderDeposit' | 'builderExit'

export type TransactionFault =
  | { kind: 'nonceTooHigh' | 'nonceTooLow'; nonce: bigint; expected: bigint }
  | { kind: 'nonceHasMaxValue'; nonce: bigint }
  | { kind: 'tipAboveFeeCap'; tip: bigint; cap: bigint }
  | { kind: 'feeCapBelowBaseFee'; cap: bigint; baseFee: bigint }
  | {
      kind:
        | 'blobsUnsupported'
        | 'blobsOfCreation'
        | 'noBlobHashes'
        | 'tooManyBlobs'
        | 'setCodeUnsupported'
        | 'setCodeOfCreation'
        | 'noAuthorizations'
        | 'priceOverflow'
        | 'insufficientFundsForTransfer'
    }
  | { kind: 'blobHashVersion'; index: number }
  | { kind: 'blobFeeCapTooLow'; cap: bigint; blobBaseFee: bigint }
  | { kind: 'initCodeTooLarge'; size: number; limit: number }
  | { kind: 'insufficientFunds'; have: bigint; want: bigint }
  | { kind: 'intrinsicGas' | 'floorGas'; want: bigint }

/** Rejections that occur while calls are executed, or after a block's last call. */
const AFTER_CALLS = { nativePrecompile: true, depositLength: true, requestQueue: true }

/** A call that is no valid transaction, or a block that can't be sealed. As in geth, the whole request fails. */
export class SimulationRejected extends Error {
  override readonly name = 'SimulationRejected'
  constructor(
    readonly rejection: Rejection,
    /** Index in `plan.blocks`. */
    readonly block: number,
    /** Index in that block's calls; absent if the block itself or its overrides are at fault. */
    readonly call?: number,
  ) {
    super(rejection.kind)
  }

  /** Whether calls may have been executed before it. */
  get isAfterWork(): boolean {
    return this.block > 0 || (this.call ?? 0) > 0 || this.rejection.kind in AFTER_CALLS
  }
}

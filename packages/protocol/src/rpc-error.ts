/**
 * JSON-RPC error codes of execution-apis (eth_simulateV1), EIP-1474 and JSON-RPC 2.0.
 * https://github.com/ethereum/execution-apis/blob/main/src/eth/execute.yaml
 */
export const ErrorCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Unknown block, and everything that geth reports without a code of its own. */
  serverError: -32000,
  /** The requested item is not kept, or does not exist. */
  resourceNotFound: -32001,
  limitExceeded: -32005,
  /** The EVM halted (inside a call result, never a whole answer). */
  vmError: -32015,
  /** The EVM reverted (inside a call result, never a whole answer). */
  reverted: 3,
  nonceTooLow: -38010,
  nonceTooHigh: -38011,
  baseFeeTooLow: -38012,
  intrinsicGas: -38013,
  insufficientFunds: -38014,
  blockGasLimitReached: -38015,
  blockNumberInvalid: -38020,
  blockTimestampInvalid: -38021,
  movePrecompileSelfReference: -38022,
  movePrecompileDuplicate: -38023,
  senderNotEoa: -38024,
  initCodeTooLarge: -38025,
  clientLimitExceeded: -38026,
} as const
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode]

/** An error for the client. `data` is sent unchanged, so it must not contain secrets. */
export class RpcError extends Error {
  override readonly name: string = 'RpcError'
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly data?: unknown,
    /** HTTP status of a response with only this error; 200 if the client is at fault. */
    readonly httpStatus: number = 200,
  ) {
    super(message)
  }
}

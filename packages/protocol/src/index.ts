export * from './billing/index.js'
export * from './block-header.js'
export * from './block-header-from-rpc.js'
export * from './block-header-to-rpc.js'
export * from './block-parameter.js'
export * from './call/call-request.js'
export {
  type AccountCall,
  type CallPosition,
  decodeWaitingCalls,
  MAX_WAITING_CALLS,
  type SignedTransactionCall,
  type WaitingCalls,
} from './call/encoded-calls.js'
export type { SafeTransaction } from './call/safe-transaction.js'
export type { Paymaster, UserOperation } from './call/user-operation.js'
export { decodeAddress, decodeBytes, decodeBytes32 } from './decode/bytes.js'
export * from './decode/decode-error.js'
export * from './decode/fields.js'
export * from './decode/quantity.js'
export * from './decode/quote.js'
export * from './hex.js'
export { plainJson } from './json-rpc/byte-keyed.js'
export * from './json-rpc/envelope.js'
export * from './json-rpc/json-text.js'
export * from './logs/log-filter.js'
export * from './openrpc/openrpc-document.js'
export { OTHER_SERVICES } from './openrpc/other-services.js'
export { PART_ENTRIES, type Parts } from './parts.js'
export * from './rpc-error.js'
export * from './simulate/decode-simulation-request.js'
export type { TokenSetting } from './simulate/decode-token-overrides.js'
export * from './simulate/simulated-block.js'
export * from './simulate/simulation-limits.js'
export * from './simulate/simulation-request.js'
export * from './trace/inspection.js'
export * from './trace/sweep.js'
export * from './trace/trace-call-request.js'
export * from './trace/tracer.js'

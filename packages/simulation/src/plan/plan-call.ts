import { type Call, ErrorCode, RpcError, ZERO_ADDRESS } from '@upfront/protocol'
import type { PlannedCall } from './simulation-plan.js'

/**
 * A call as the transaction that geth would make of it. Its type follows from the fields that are there: a gas price makes
 * it legacy whatever else is given, then authorizations type 4, blobs type 3, anything else type 2. Access list, blobs and
 * authorizations take effect all the same.
 * @throws RpcError for combinations that are no transaction, its message without the place
 */
export function planCall(call: Call, chainId: bigint): PlannedCall {
  refuseContradictions(call, chainId)
  const planned: PlannedCall = {
    type: typeOf(call),
    from: call.from ?? ZERO_ADDRESS,
    to: call.to ?? null,
    input: call.input ?? '0x',
    value: call.value ?? 0n,
    accessList: call.accessList ?? [],
  }
  if (call.nonce !== undefined) planned.nonce = call.nonce
  if (call.gas !== undefined) planned.gas = call.gas
  if (call.gasPrice !== undefined) {
    planned.gasPrice = call.gasPrice
  } else {
    planned.maxFeePerGas = call.maxFeePerGas ?? 0n
    planned.maxPriorityFeePerGas = call.maxPriorityFeePerGas ?? 0n
  }
  if (call.blobVersionedHashes !== undefined) {
    planned.blobVersionedHashes = call.blobVersionedHashes
    planned.maxFeePerBlobGas = call.maxFeePerBlobGas ?? 0n
  }
  if (call.authorizationList !== undefined) planned.authorizationList = call.authorizationList
  return planned
}

function typeOf(call: Call): PlannedCall['type'] {
  if (call.gasPrice !== undefined) return 0
  if (call.authorizationList !== undefined) return 4
  return call.blobVersionedHashes === undefined ? 2 : 3
}

/** What geth refuses before it makes a transaction of a call, without codes of their own. All else is the engine's to check. */
function refuseContradictions(call: Call, chainId: bigint): void {
  if (call.gasPrice !== undefined && (call.maxFeePerGas !== undefined || call.maxPriorityFeePerGas !== undefined)) {
    throw new RpcError(ErrorCode.serverError, 'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified')
  }
  if (call.to === undefined && call.blobVersionedHashes !== undefined) {
    throw new RpcError(ErrorCode.serverError, 'blob transaction of type create')
  }
  if (call.to === undefined && call.authorizationList !== undefined) {
    throw new RpcError(ErrorCode.serverError, 'EIP-7702 transaction cannot be used to create contract')
  }
  if (call.chainId !== undefined && call.chainId !== chainId) {
    throw new RpcError(ErrorCode.serverError, `chainId does not match node's (have=${call.chainId}, want=${chainId})`)
  }
}

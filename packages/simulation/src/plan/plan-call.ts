import { type Call, ZERO_ADDRESS } from '@upfront/protocol'
import type { PlannedCall } from './simulation-plan.js'

/**
 * A call as the transaction that geth would make of it. The type follows from the fields: a gas price makes it type 0 regardless of others,
 * then authorizations type 4, blobs type 3, anything else type 2. Access list, blobs and authorizations take effect with any type.
 */
export function planCall(call: Call): PlannedCall {
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
  if (call.shownGasPrice !== undefined) planned.shownGasPrice = call.shownGasPrice
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

/** Why a call makes no transaction, in geth's words and order (`CallDefaults`; without codes of their own); undefined if it makes one. */
export function contradictionOf(call: Call, chainId: bigint): string | undefined {
  if (call.gasPrice !== undefined && (call.maxFeePerGas !== undefined || call.maxPriorityFeePerGas !== undefined))
    return 'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified'
  if (call.to === undefined && call.blobVersionedHashes !== undefined) return 'blob transaction of type create'
  if (call.to === undefined && call.authorizationList !== undefined)
    return 'EIP-7702 transaction cannot be used to create contract'
  if (call.chainId !== undefined && call.chainId !== chainId)
    return `chainId does not match node's (have=${call.chainId}, want=${chainId})`
  return undefined
}

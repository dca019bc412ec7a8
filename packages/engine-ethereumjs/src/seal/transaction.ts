import type { Hash } from '@upfront/protocol'
import type { PlannedCall } from '@upfront/simulation'
import { encodeRlp, keccak, type RlpItem, withType } from './rlp.js'

/** A call with nonce and gas filled in. */
export interface FilledCall {
  call: PlannedCall
  nonce: bigint
  gas: bigint
}

/** The network form (EIP-2718) of the transaction that stands for a call, its signature zero as in geth's ToTransaction. */
export function encodeTransaction(filled: FilledCall, chainId: bigint): Uint8Array {
  return withType(filled.call.type, encodeRlp(fields(filled, chainId)))
}

export function transactionHash(encoded: Uint8Array): Hash {
  return keccak(encoded)
}

/** A transaction in a block's body: a list where it is legacy, else a byte string (EIP-2718). */
export function bodyItem(filled: FilledCall, chainId: bigint, encoded: Uint8Array): RlpItem {
  return filled.call.type === 0 ? fields(filled, chainId) : encoded
}

function fields({ call, nonce, gas }: FilledCall, chainId: bigint): RlpItem[] {
  const { to, value, input } = call
  const payload: RlpItem[] = [to, value, input]
  const signature: RlpItem[] = [0n, 0n, 0n]
  const accessList = call.accessList.map(({ address, storageKeys }): RlpItem => [address, storageKeys])
  const tip = call.maxPriorityFeePerGas ?? 0n
  const cap = call.maxFeePerGas ?? 0n
  const price = call.gasPrice ?? 0n
  switch (call.type) {
    case 0:
      return [nonce, price, gas, ...payload, ...signature]
    case 1:
      return [chainId, nonce, price, gas, ...payload, accessList, ...signature]
    case 2:
      return [chainId, nonce, tip, cap, gas, ...payload, accessList, ...signature]
    case 3: {
      const blobs = [call.maxFeePerBlobGas ?? 0n, call.blobVersionedHashes ?? []]
      return [chainId, nonce, tip, cap, gas, ...payload, accessList, ...blobs, ...signature]
    }
    case 4: {
      const authorizations = (call.authorizationList ?? []).map(
        ({ chainId: chain, address, nonce: from, yParity, r, s }): RlpItem => [chain, address, from, yParity, r, s],
      )
      return [chainId, nonce, tip, cap, gas, ...payload, accessList, authorizations, ...signature]
    }
  }
}

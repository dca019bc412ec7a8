import { type Common, createCustomCommon, Mainnet } from '@ethereumjs/common'
import { createTxFromRLP } from '@ethereumjs/tx'
import type { Address, Hash, Hex } from '@upfront/protocol'
import type { EthereumFork, PlannedCall } from '@upfront/simulation'
import { bytesOf, hexOf } from '../state/bytes.js'

/** A transaction as the call that it makes. */
export interface SignedTransaction {
  hash: Hash
  raw: Hex
  nonce: bigint
  gas: bigint
  call: PlannedCall
}

/** EthereumJS reads blob transactions only with a KZG library, which it does not call where the blobs are not included. */
const NO_KZG = {} as NonNullable<Common['customCrypto']['kzg']>

/** @throws Error where the bytes are no signed transaction of the chain and the fork */
export function readSignedTransaction(raw: Hex, chainId: bigint, fork: EthereumFork): SignedTransaction {
  const common = createCustomCommon({ chainId: chainId.toString() }, Mainnet, {
    hardfork: fork,
    customCrypto: { kzg: NO_KZG },
  })
  const transaction = createTxFromRLP(bytesOf(raw), { common, freeze: false })
  const { to, value, data, nonce, gasLimit, type } = transaction
  const call: PlannedCall = {
    type: type as PlannedCall['type'],
    from: hexOf(transaction.getSenderAddress().bytes),
    to: to ? hexOf(to.bytes) : null,
    input: hexOf(data),
    value,
    accessList: [],
  }
  if ('gasPrice' in transaction) call.gasPrice = transaction.gasPrice
  if ('maxFeePerGas' in transaction) {
    call.maxFeePerGas = transaction.maxFeePerGas
    call.maxPriorityFeePerGas = transaction.maxPriorityFeePerGas
  }
  if ('accessList' in transaction) {
    call.accessList = transaction.accessList.map(([address, slots]) => ({
      address: hexOf(address),
      storageKeys: slots.map(hexOf),
    }))
  }
  if ('blobVersionedHashes' in transaction) {
    call.blobVersionedHashes = transaction.blobVersionedHashes
    call.maxFeePerBlobGas = transaction.maxFeePerBlobGas
  }
  if ('authorizationList' in transaction) {
    call.authorizationList = transaction.authorizationList.map(([chain, address, from, yParity, r, s]) => ({
      chainId: quantity(chain),
      address: hexOf(address) as Address,
      nonce: quantity(from),
      yParity: quantity(yParity),
      r: quantity(r),
      s: quantity(s),
    }))
  }
  return { hash: hexOf(transaction.hash()), raw, nonce, gas: gasLimit, call }
}

function quantity(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(hexOf(bytes))
}

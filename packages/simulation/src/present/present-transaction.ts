import { type BlockHeader, type SimulatedTransaction, toQuantity } from '@upfront/protocol'
import type { ExecutedTransaction } from '../engine/engine.js'
import type { ChainRules } from '../plan/chain-rules.js'

/**
 * geth reads a legacy transaction's chain id from `v` (EIP-155: (v - 35) / 2) even where `v` is that of no signature, 0,
 * and so answers (2^64 - 35) / 2; clients that compare answers see the same here. op-geth gives such a transaction the chain's id.
 */
const UNSIGNED_LEGACY_CHAIN_ID = '0x7fffffffffffffee'

/** A simulated transaction whole, as geth writes it. */
export function presentTransaction(
  transaction: ExecutedTransaction,
  index: number,
  header: BlockHeader,
  { chainId, stack }: ChainRules,
): SimulatedTransaction {
  const { call } = transaction
  const answer: SimulatedTransaction = {
    blockHash: header.hash,
    blockNumber: toQuantity(header.number),
    blockTimestamp: toQuantity(header.timestamp),
    transactionIndex: toQuantity(index),
    hash: transaction.hash,
    type: toQuantity(call.type),
    from: call.from,
    to: call.to,
    nonce: toQuantity(transaction.nonce),
    gas: toQuantity(transaction.gas),
    value: toQuantity(call.value),
    input: call.input,
    chainId: call.type === 0 && stack === 'ethereum' ? UNSIGNED_LEGACY_CHAIN_ID : toQuantity(chainId),
    gasPrice: toQuantity(effectiveGasPrice(transaction, header.baseFeePerGas ?? 0n)),
    v: '0x0',
    r: '0x0',
    s: '0x0',
  }
  if (call.type === 0) return answer
  answer.yParity = '0x0'
  answer.accessList = call.accessList
  if (call.maxFeePerGas !== undefined) answer.maxFeePerGas = toQuantity(call.maxFeePerGas)
  if (call.maxPriorityFeePerGas !== undefined) answer.maxPriorityFeePerGas = toQuantity(call.maxPriorityFeePerGas)
  if (call.type === 3 && call.blobVersionedHashes !== undefined) {
    answer.maxFeePerBlobGas = toQuantity(call.maxFeePerBlobGas ?? 0n)
    answer.blobVersionedHashes = call.blobVersionedHashes
  }
  if (call.type === 4 && call.authorizationList !== undefined) {
    answer.authorizationList = call.authorizationList.map(({ chainId, address, nonce, yParity, r, s }) => ({
      chainId: toQuantity(chainId),
      address,
      nonce: toQuantity(nonce),
      yParity: toQuantity(yParity),
      r: toQuantity(r),
      s: toQuantity(s),
    }))
  }
  return answer
}

/** EIP-1559: the tip above the base fee, at most the cap. */
function effectiveGasPrice({ call }: ExecutedTransaction, baseFee: bigint): bigint {
  if (call.gasPrice !== undefined) return call.gasPrice
  const cap = call.maxFeePerGas ?? 0n
  const price = (call.maxPriorityFeePerGas ?? 0n) + baseFee
  return price < cap ? price : cap
}

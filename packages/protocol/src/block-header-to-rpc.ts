import type { BlockHeader } from './block-header.js'
import { toQuantity } from './hex.js'
import type { SimulatedBlock } from './simulate/simulated-block.js'

/** The fields of a block that are its header's. */
export type RpcHeader = Omit<SimulatedBlock, 'size' | 'transactions' | 'uncles' | 'withdrawals' | 'calls'>

/** A header as geth writes it; fields that its fork lacks are absent. */
export function blockHeaderToRpc(header: BlockHeader): RpcHeader {
  const fields: RpcHeader = {
    number: toQuantity(header.number),
    hash: header.hash,
    parentHash: header.parentHash,
    nonce: header.nonce,
    mixHash: header.mixHash,
    sha3Uncles: header.sha3Uncles,
    logsBloom: header.logsBloom,
    stateRoot: header.stateRoot,
    miner: header.miner,
    difficulty: toQuantity(header.difficulty),
    extraData: header.extraData,
    gasLimit: toQuantity(header.gasLimit),
    gasUsed: toQuantity(header.gasUsed),
    timestamp: toQuantity(header.timestamp),
    transactionsRoot: header.transactionsRoot,
    receiptsRoot: header.receiptsRoot,
  }
  if (header.baseFeePerGas !== undefined) fields.baseFeePerGas = toQuantity(header.baseFeePerGas)
  if (header.withdrawalsRoot !== undefined) fields.withdrawalsRoot = header.withdrawalsRoot
  if (header.blobGasUsed !== undefined) fields.blobGasUsed = toQuantity(header.blobGasUsed)
  if (header.excessBlobGas !== undefined) fields.excessBlobGas = toQuantity(header.excessBlobGas)
  if (header.parentBeaconBlockRoot !== undefined) fields.parentBeaconBlockRoot = header.parentBeaconBlockRoot
  if (header.requestsHash !== undefined) fields.requestsHash = header.requestsHash
  return fields
}

import type { BlockHeader, Hash, Hex } from '@upfront/protocol'
import { keccak256, numberToHex, toRlp } from 'viem'

/** A block's hash, from all header fields except `hash`, in the order in which forks added them. */
export function headerHash(header: Omit<BlockHeader, 'hash'>): Hash {
  const fields = [
    header.parentHash,
    header.sha3Uncles,
    header.miner,
    header.stateRoot,
    header.transactionsRoot,
    header.receiptsRoot,
    header.logsBloom,
    header.difficulty,
    header.number,
    header.gasLimit,
    header.gasUsed,
    header.timestamp,
    header.extraData,
    header.mixHash,
    header.nonce,
    header.baseFeePerGas,
    header.withdrawalsRoot,
    header.blobGasUsed,
    header.excessBlobGas,
    header.parentBeaconBlockRoot,
    header.requestsHash,
    header.blockAccessListHash,
    header.slotNumber,
  ]
  return keccak256(toRlp(fields.filter((field) => field !== undefined).map(encoded)))
}

function encoded(field: Hex | bigint): Hex {
  if (typeof field === 'string') return field
  return field === 0n ? '0x' : numberToHex(field)
}

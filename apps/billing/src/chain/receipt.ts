import type { Address, Hash, Hex } from '@upfront/protocol'

export interface Log {
  /** Index of the log in its block. */
  logIndex: number
  address: Address
  topics: Hash[]
  data: Hex
  transactionHash: Hash
  blockNumber: bigint
}

export interface Receipt {
  hash: Hash
  /** Index of the batch item that this part describes; 0 for a whole transaction. */
  item: number
  /** False if a batch ran out of gas before this item. */
  tried: boolean
  succeeded: boolean
  blockNumber: bigint
  blockHash: Hash
  from: Address
  /** Target of the transaction. */
  to: Address | null
  gasUsed: bigint
  /** Wei, including an OP-stack chain's L1 fee. */
  fee: bigint
  logs: Log[]
}

export interface RpcReceipt {
  transactionHash: Hash
  status: Hex
  blockNumber: Hex | null
  blockHash: Hash
  from: Address
  to: Address | null
  gasUsed: Hex
  effectiveGasPrice: Hex
  l1Fee?: Hex
  logs: RpcLog[]
}

export interface RpcLog extends Omit<Log, 'logIndex' | 'blockNumber'> {
  logIndex: Hex
  blockNumber: Hex
}

/** Decodes the receipt of a mined transaction. */
export function readReceipt(found: RpcReceipt): Receipt {
  const gasUsed = BigInt(found.gasUsed)
  return {
    hash: found.transactionHash,
    item: 0,
    tried: true,
    succeeded: BigInt(found.status) === 1n,
    blockNumber: BigInt(found.blockNumber ?? 0),
    blockHash: found.blockHash,
    from: found.from.toLowerCase() as Address,
    to: (found.to?.toLowerCase() as Address | undefined) ?? null,
    gasUsed,
    fee: gasUsed * BigInt(found.effectiveGasPrice) + BigInt(found.l1Fee ?? 0),
    logs: found.logs.map(readLog),
  }
}

export function readLog(log: RpcLog): Log {
  const { logIndex, blockNumber, address, topics, data, transactionHash } = log
  return {
    logIndex: Number(logIndex),
    blockNumber: BigInt(blockNumber),
    address: address.toLowerCase() as Address,
    ...{ topics, data, transactionHash },
  }
}

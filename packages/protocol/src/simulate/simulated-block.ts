import type { Address, Hash, Hex } from '../hex.js'

/**
 * How a failed call's `error` is encoded: as a string (`upfront`, the service description), or as
 * an object (`ethereum`, as in geth and execution-apis).
 */
export const DIALECTS = ['upfront', 'ethereum'] as const
export type Dialect = (typeof DIALECTS)[number]

/** One entry of the result of `eth_simulateV1`: a block with a `calls` array. Fields that its fork lacks are absent. */
export interface SimulatedBlock {
  number: Hex
  hash: Hash
  parentHash: Hash
  nonce: Hex
  mixHash: Hash
  sha3Uncles: Hash
  logsBloom: Hex
  /** Zero, because a simulation computes no state root. `hash` is the hash of this header. */
  stateRoot: Hash
  miner: Address
  difficulty: Hex
  extraData: Hex
  gasLimit: Hex
  gasUsed: Hex
  timestamp: Hex
  transactionsRoot: Hash
  receiptsRoot: Hash
  baseFeePerGas?: Hex
  withdrawalsRoot?: Hash
  blobGasUsed?: Hex
  excessBlobGas?: Hex
  parentBeaconBlockRoot?: Hash
  requestsHash?: Hash
  size: Hex
  /** Hashes, or full transactions with `returnFullTransactions`. */
  transactions: Hash[] | SimulatedTransaction[]
  uncles: Hash[]
  withdrawals?: { index: Hex; validatorIndex: Hex; address: Address; amount: Hex }[]
  calls: SimulatedCall[]
}

export interface SimulatedCall {
  status: '0x0' | '0x1'
  /** `0x` if the call failed, as in geth; revert data is in `error`. */
  returnData: Hex
  gasUsed: Hex
  /** Before refunds: the gas limit that the call needs. */
  maxUsedGas: Hex
  logs: SimulatedLog[]
  error?: string | { code: number; message: string; data?: Hex }
}

export interface SimulatedLog {
  address: Address
  topics: Hash[]
  data: Hex
  blockNumber: Hex
  blockHash: Hash
  blockTimestamp: Hex
  transactionHash: Hash
  transactionIndex: Hex
  logIndex: Hex
  removed: false
}

/** A transaction of a block as encoded by geth, with a zero signature. */
export interface SimulatedTransaction {
  blockHash: Hash
  blockNumber: Hex
  blockTimestamp: Hex
  transactionIndex: Hex
  hash: Hash
  type: Hex
  from: Address
  to: Address | null
  nonce: Hex
  gas: Hex
  value: Hex
  input: Hex
  chainId: Hex
  gasPrice: Hex
  maxFeePerGas?: Hex
  maxPriorityFeePerGas?: Hex
  maxFeePerBlobGas?: Hex
  accessList?: { address: Address; storageKeys: Hash[] }[]
  blobVersionedHashes?: Hash[]
  authorizationList?: { chainId: Hex; address: Address; nonce: Hex; yParity: Hex; r: Hex; s: Hex }[]
  v: Hex
  r: Hex
  s: Hex
  yParity?: Hex
}

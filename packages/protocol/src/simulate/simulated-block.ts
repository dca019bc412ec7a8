import type { Address, Hash, Hex } from '../hex.js'

/**
 * How a failed call's `error` is written: `upfront` as a string (the service description), `ethereum` as an object (geth,
 * execution-apis).
 */
export const DIALECTS = ['upfront', 'ethereum'] as const
export type Dialect = (typeof DIALECTS)[number]

/** One entry of the answer to `eth_simulateV1`: a block with a `calls` array. Fields that its fork lacks are absent. */
export interface SimulatedBlock {
  number: Hex
  hash: Hash
  parentHash: Hash
  nonce: Hex
  mixHash: Hash
  sha3Uncles: Hash
  logsBloom: Hex
  /** Zero: a simulation commits nothing. `hash` is that of this very header. */
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
  /** Hashes, or whole transactions where `returnFullTransactions` asks for them. */
  transactions: Hash[] | SimulatedTransaction[]
  uncles: Hash[]
  withdrawals?: { index: Hex; validatorIndex: Hex; address: Address; amount: Hex }[]
  calls: SimulatedCall[]
}

export interface SimulatedCall {
  status: '0x0' | '0x1'
  /** `0x` where the call failed, as in geth: revert data stands in `error`. */
  returnData: Hex
  gasUsed: Hex
  /** Before refunds: what the call needs as its gas limit. */
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

/** As geth writes a transaction of a block; the signature is zero. */
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

import type { Address, Hash, Hex } from './hex.js'

/** A sealed block header: quantities as bigint, bytes as hex. Fields that a fork had not brought yet are absent. */
export interface BlockHeader {
  hash: Hash
  parentHash: Hash
  sha3Uncles: Hash
  miner: Address
  stateRoot: Hash
  transactionsRoot: Hash
  receiptsRoot: Hash
  logsBloom: Hex
  difficulty: bigint
  number: bigint
  gasLimit: bigint
  gasUsed: bigint
  /** Seconds since 1970. */
  timestamp: bigint
  extraData: Hex
  mixHash: Hash
  nonce: Hex
  /** London. */
  baseFeePerGas?: bigint
  /** Shanghai. */
  withdrawalsRoot?: Hash
  /** Cancun. On OP-stack chains from Jovian on: the DA footprint. */
  blobGasUsed?: bigint
  /** Cancun. */
  excessBlobGas?: bigint
  /** Cancun, EIP-4788. */
  parentBeaconBlockRoot?: Hash
  /** Prague, EIP-7685. */
  requestsHash?: Hash
  /** Amsterdam, EIP-7928. */
  blockAccessListHash?: Hash
  /** Amsterdam, EIP-7843. */
  slotNumber?: bigint
}

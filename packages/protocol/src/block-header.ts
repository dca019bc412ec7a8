import type { Address, Hash, Hex } from './hex.js'

/** A sealed block header: quantities as bigint, bytes as hex. Fields that its fork lacks are absent. */
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
  /** Unix time in seconds. */
  timestamp: bigint
  extraData: Hex
  mixHash: Hash
  nonce: Hex
  /** Since London. */
  baseFeePerGas?: bigint
  /** Since Shanghai. */
  withdrawalsRoot?: Hash
  /** Since Cancun. On OP-stack chains since Jovian: the DA footprint. */
  blobGasUsed?: bigint
  /** Since Cancun. */
  excessBlobGas?: bigint
  /** Since Cancun, EIP-4788. */
  parentBeaconBlockRoot?: Hash
  /** Since Prague, EIP-7685. */
  requestsHash?: Hash
  /** Since Amsterdam, EIP-7928. */
  blockAccessListHash?: Hash
  /** Since Amsterdam, EIP-7843. */
  slotNumber?: bigint
}

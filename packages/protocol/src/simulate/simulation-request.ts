import type { StateParameter } from '../block-parameter.js'
import type { Address, Hash, Hex } from '../hex.js'

/** The decoded `params` of `eth_simulateV1`: nothing defaulted but the flags, every quantity within its EVM width. */
export interface SimulationRequest {
  blockStateCalls: BlockStateCall[]
  traceTransfers: boolean
  validation: boolean
  returnFullTransactions: boolean
  block: StateParameter
}

export interface BlockStateCall {
  calls: Call[]
  /** In ascending order of address, each address once. */
  stateOverrides: StateOverride[]
  blockOverrides: BlockOverrides
}

/** execution-apis' GenericTransaction. `data` and `input` are one here: `input`. */
export interface Call {
  from?: Address
  /** Absent: a contract creation. */
  to?: Address
  gas?: bigint
  value?: bigint
  nonce?: bigint
  input?: Hex
  gasPrice?: bigint
  /** What GASPRICE says, whatever is paid. No request has it: what tries a call under other circumstances does. */
  shownGasPrice?: bigint
  maxFeePerGas?: bigint
  maxPriorityFeePerGas?: bigint
  maxFeePerBlobGas?: bigint
  accessList?: AccessListEntry[]
  blobVersionedHashes?: Hash[]
  authorizationList?: Authorization[]
  chainId?: bigint
}

export interface AccessListEntry {
  address: Address
  storageKeys: Hash[]
}

/** EIP-7702, signed; or unsigned, then `authority` stands in for a signature of zeros. */
export interface Authorization {
  chainId: bigint
  address: Address
  nonce: bigint
  yParity: bigint
  r: bigint
  s: bigint
  /** Who would sign it. */
  authority?: Address
}

export interface StateOverride {
  address: Address
  balance?: bigint
  nonce?: bigint
  code?: Hex
  /** Replaces the whole storage. `planSimulation` refuses it beside `stateDiff`, as geth does once it applies the overrides. */
  state?: [slot: Hash, value: Hash][]
  /** Replaces single slots; the request may also call it `storage`. */
  stateDiff?: [slot: Hash, value: Hash][]
  movePrecompileToAddress?: Address
}

export interface BlockOverrides {
  number?: bigint
  /** Seconds since 1970; the request may call it `time` or `timestamp`. */
  timestamp?: bigint
  gasLimit?: bigint
  feeRecipient?: Address
  prevRandao?: Hash
  baseFeePerGas?: bigint
  blobBaseFee?: bigint
  beaconRoot?: Hash
  withdrawals?: Withdrawal[]
}

/** EIP-4895. */
export interface Withdrawal {
  index: bigint
  validatorIndex: bigint
  address: Address
  /** Gwei. */
  amount: bigint
}

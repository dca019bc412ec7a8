import type { StateParameter } from '../block-parameter.js'
import type { Address, Hash, Hex } from '../hex.js'

/** The decoded `params` of `eth_simulateV1`. Only flags have defaults; every quantity is within its EVM width. */
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

/** execution-apis' GenericTransaction, with `data` and `input` merged into `input`. */
export interface Call {
  from?: Address
  /** Absent: contract creation. */
  to?: Address
  gas?: bigint
  value?: bigint
  nonce?: bigint
  input?: Hex
  gasPrice?: bigint
  /** The result of GASPRICE, whatever is paid. Never set by a request; set to try a call under other circumstances. */
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

/** An EIP-7702 authorization. If it is unsigned, its signature is zero and `authority` is set. */
export interface Authorization {
  chainId: bigint
  address: Address
  nonce: bigint
  yParity: bigint
  r: bigint
  s: bigint
  /** The account that would sign it. */
  authority?: Address
}

export interface StateOverride {
  address: Address
  balance?: bigint
  nonce?: bigint
  code?: Hex
  /** Replaces the whole storage. `planSimulation` rejects it together with `stateDiff`, as geth does when it applies overrides. */
  state?: [slot: Hash, value: Hash][]
  /** Replaces single slots. Requests may also call it `storage`. */
  stateDiff?: [slot: Hash, value: Hash][]
  movePrecompileToAddress?: Address
}

export interface BlockOverrides {
  number?: bigint
  /** Unix time in seconds. Requests may call it `time` or `timestamp`. */
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

import type { Address, Hex } from '@upfront/protocol'

/** Calls that hold a call on chain to what it showed, see `contracts/OutcomeGuard.sol`. */
export interface ShownGuard {
  contract: Address
  /** Whether the contract is deployed on the chain. */
  isDeployed: boolean
  /** Called by the account itself before the call, in the same transaction. */
  before: { to: Address; data: Hex }
  /** Called after it; reverts the transaction if a bound is violated. */
  after: { to: Address; data: Hex }
  bounds: ShownBound[]
  /** Upper limit of the gas for both calls, calldata included: they cost less on warm accounts and slots. */
  gas: Hex
}

/** In the token's smallest unit; the native currency if no token is named. */
export interface ShownBound {
  token?: Address
  /** For a balance: its least change, signed. */
  least?: string
  spender?: Address
  /** For the spender's allowance: its maximum, unless it was higher before. */
  most?: Hex
}

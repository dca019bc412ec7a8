import type { Address, Hex } from '@upfront/protocol'

/** What has the chain hold a call to what it showed: see `contracts/OutcomeGuard.sol`. */
export interface ShownGuard {
  contract: Address
  /** Whether the chain has the contract there. */
  isDeployed: boolean
  /** What the account itself calls before, in the same transaction. */
  before: { to: Address; data: Hex }
  /** What it calls after; it reverts all where a bound does not hold. */
  after: { to: Address; data: Hex }
  bounds: ShownBound[]
  /** That both calls take, calldata included: at most, as what they look at costs less once it was looked at. */
  gas: Hex
}

/** In the token's smallest unit; of the native currency where no token is named. */
export interface ShownBound {
  token?: Address
  /** Of a balance: by how much it has to have changed at least, negative with a sign. */
  least?: string
  spender?: Address
  /** Of what the spender may spend: how much at most, if it was not more before. */
  most?: Hex
}

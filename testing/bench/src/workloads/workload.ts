import type { UniswapContracts } from '@upfront/devnet'
import type { Address, Hex } from 'viem'

/** The contracts and the account that every workload finds on the node. */
export interface Stage {
  uniswap: UniswapContracts
  /** Holds native currency and both tokens, and has approved the router for both. */
  trader: Address
}

export interface SimulatedCall {
  from?: Address
  to?: Address
  value?: Hex
  data?: Hex
  gas?: Hex
}

/** The first element of `eth_simulateV1`'s params, in the subset that all three servers know. */
export interface SimulationPayload {
  blockStateCalls: {
    calls?: SimulatedCall[]
    stateOverrides?: Record<Address, { balance?: Hex; code?: Hex; stateDiff?: Record<Hex, Hex> }>
    blockOverrides?: { gasLimit?: Hex }
  }[]
}

/** Highest allowed ratio of our server's CPU per request to another's. */
export interface Targets {
  anvil?: number
  geth?: number
}

/** One thing to measure, warm, side by side. */
export interface Workload {
  /** For `--only`. */
  name: string
  title: string
  targets: Targets
  /** Requests in flight at a time; 4 unless given. */
  concurrency?: number
  /** The `index`-th request: the same for every index, or a new one where the workload is about what was never seen. */
  payload(stage: Stage, index: number): SimulationPayload
}

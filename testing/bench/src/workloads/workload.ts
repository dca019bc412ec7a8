import type { UniswapContracts } from '@upfront/devnet'
import type { Address, Hex } from 'viem'

/** Contracts and account on the node for all workloads. */
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

/** The first param of `eth_simulateV1`, in the subset that all three servers support. */
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

/** One workload, measured warm on all servers. */
export interface Workload {
  /** Name for `--only`. */
  name: string
  title: string
  targets: Targets
  /** Concurrent requests; default 4. */
  concurrency?: number
  /** The `index`-th request: always the same, or a new one if the workload is about unseen state. */
  payload(stage: Stage, index: number): SimulationPayload
}

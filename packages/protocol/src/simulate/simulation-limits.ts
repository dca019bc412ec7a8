/** Limits of one `eth_simulateV1` request. Blocks and calls are counted before it runs, gas and the answer's size while it runs. */
export interface SimulationLimits {
  /** After gaps are filled. */
  blocks: number
  callsPerBlock: number
  /** Over all blocks. */
  totalCalls: number
  /** Gas of all calls in total. */
  gas: bigint
  /** Size of the answer's JSON. */
  answerBytes: number
}

/** geth's limits (internal/ethapi/simulate.go and its default RPC gas cap); the size of the answer is our own limit. */
export const DEFAULT_SIMULATION_LIMITS: SimulationLimits = {
  blocks: 256,
  callsPerBlock: 5_000,
  totalCalls: 10_000,
  gas: 50_000_000n,
  answerBytes: 64 * 1024 * 1024,
}

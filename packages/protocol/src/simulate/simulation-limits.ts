/** How much one `eth_simulateV1` request may ask for; what is counted before anything runs. */
export interface SimulationLimits {
  /** Blocks after gaps are filled. */
  blocks: number
  callsPerBlock: number
  /** Calls of all blocks together. */
  totalCalls: number
  /** Gas of all calls together. */
  gas: bigint
  /** Of the answer's JSON. */
  answerBytes: number
}

/** geth's, from its internal/ethapi/simulate.go and its default RPC gas cap; the answer's length is our own. */
export const DEFAULT_SIMULATION_LIMITS: SimulationLimits = {
  blocks: 256,
  callsPerBlock: 5_000,
  totalCalls: 10_000,
  gas: 50_000_000n,
  answerBytes: 64 * 1024 * 1024,
}

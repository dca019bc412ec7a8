import type { SimulationLimits } from '@upfront/protocol'
import type { Dialect, Environment } from '../environment.js'

/** What one request may use; the free endpoint and the paid routes differ in this alone. */
export interface RequestLimits extends SimulationLimits {
  upstreamReads: number
}

/** `eth_simulateV1`, from `params` to the answer's JSON. */
export abstract class Simulator {
  /** @throws RpcError, or the signal's reason */
  abstract simulate(params: unknown, limits: RequestLimits, dialect: Dialect, signal: AbortSignal): Promise<string>
}

/** The limits of `POST /`. */
export function freeLimits(environment: Environment): RequestLimits {
  return {
    blocks: 256,
    callsPerBlock: environment.MAX_CALLS_PER_BLOCK,
    totalCalls: environment.MAX_CALLS,
    gas: BigInt(environment.FREE_GAS_CAP),
    upstreamReads: environment.MAX_UPSTREAM_READS,
  }
}

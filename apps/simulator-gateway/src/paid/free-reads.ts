import { decodeEnvelope, type EnvelopeLimits, OTHER_SERVICES } from '@upfront/protocol'
import type { SimulationMethod } from '../simulate/simulator.js'

const SIMULATIONS: readonly SimulationMethod[] = ['eth_simulateV1', 'upfront_simulate']
/** Methods that present one `upfront_simulate` in another format. */
const SHOWN: readonly string[] = [
  'upfront_simulateUserOperation',
  'upfront_estimateGas',
  ...OTHER_SERVICES.map(({ name }) => name),
]

/** The methods sold at `POST /v1/simulate`. */
export const SOLD: readonly string[] = [...SIMULATIONS, ...SHOWN]

/** Longer bodies are not parsed before they are paid for. */
const MAX_BYTES = 64 * 1024

/**
 * Whether a JSON-RPC body asks only for free methods, such as the `eth_blockNumber` that viem sends before it simulates: they are as free
 * at `POST /v1/simulate` as at `POST /`. Anything that is not JSON-RPC gets the offer.
 */
export function asksForReadsOnly(body: unknown, limits: EnvelopeLimits): boolean {
  if (!Buffer.isBuffer(body) || body.length > MAX_BYTES) return false
  if (SIMULATIONS.some((method) => body.includes(method))) return false
  try {
    const { entries } = decodeEnvelope(body.toString(), limits)
    return entries.every((entry) => entry.kind === 'request' && !SOLD.includes(entry.method))
  } catch {
    return false
  }
}

/** Whether a sold method shows its simulation itself, not in another format (`isShown`). */
export function isSimulation(method: string): method is SimulationMethod {
  return SIMULATIONS.some((sold) => sold === method)
}

export function isShown(method: string): boolean {
  return SHOWN.includes(method)
}

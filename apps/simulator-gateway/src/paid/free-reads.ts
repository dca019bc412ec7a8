import { decodeEnvelope, type EnvelopeLimits, OTHER_SERVICES } from '@upfront/protocol'
import type { SimulationMethod } from '../simulate/simulator.js'

const SIMULATIONS: readonly SimulationMethod[] = ['eth_simulateV1', 'upfront_simulate']
/** Each shows one `upfront_simulate` in another shape. */
const SHOWN: readonly string[] = [
  'upfront_simulateUserOperation',
  'upfront_estimateGas',
  ...OTHER_SERVICES.map(({ name }) => name),
]

/** A longer body is not looked into before it is paid for. */
const MAX_BYTES = 64 * 1024

/**
 * True for a JSON-RPC body that asks for nothing that is sold, such as the `eth_blockNumber` that viem asks for before it
 * simulates: it is as free at `POST /v1/simulate` as at `POST /`. What is no JSON-RPC is answered with the offer.
 */
export function asksForReadsOnly(body: unknown, limits: EnvelopeLimits): boolean {
  if (!Buffer.isBuffer(body) || body.length > MAX_BYTES) return false
  if (SIMULATIONS.some((method) => body.includes(method))) return false
  try {
    const { entries } = decodeEnvelope(body.toString(), limits)
    return entries.every((entry) => entry.kind === 'request' && !isSimulation(entry.method) && !isShown(entry.method))
  } catch {
    return false
  }
}

/** What is sold at `POST /v1/simulate`, and what shows it in another shape, sold there too. */
export function isSimulation(method: string): method is SimulationMethod {
  return SIMULATIONS.some((sold) => sold === method)
}

export function isShown(method: string): boolean {
  return SHOWN.includes(method)
}

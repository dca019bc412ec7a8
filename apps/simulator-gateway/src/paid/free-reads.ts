import { decodeEnvelope, type EnvelopeLimits } from '@upfront/protocol'
import type { SimulationMethod } from '../simulate/simulator.js'

/** What is sold at `POST /v1/simulate`. */
export const SOLD_METHODS: readonly SimulationMethod[] = ['eth_simulateV1', 'upfront_simulate']

/** A longer body is not looked into before it is paid for. */
const MAX_BYTES = 64 * 1024

/**
 * True for a JSON-RPC body that asks for nothing that is sold, such as the `eth_blockNumber` that viem asks for before it
 * simulates: it is as free at `POST /v1/simulate` as at `POST /`. What is no JSON-RPC is answered with the offer.
 */
export function asksForReadsOnly(body: unknown, limits: EnvelopeLimits): boolean {
  if (!Buffer.isBuffer(body) || body.length > MAX_BYTES) return false
  if (SOLD_METHODS.some((method) => body.includes(method))) return false
  try {
    const { entries } = decodeEnvelope(body.toString(), limits)
    return entries.every((entry) => entry.kind === 'request' && !isSold(entry.method))
  } catch {
    return false
  }
}

export function isSold(method: string): method is SimulationMethod {
  return SOLD_METHODS.some((sold) => sold === method)
}

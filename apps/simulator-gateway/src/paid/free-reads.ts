import { decodeEnvelope, type EnvelopeLimits } from '@upfront/protocol'

/** What is sold at `POST /v1/simulate`. */
export const SOLD_METHOD = 'eth_simulateV1'

/** A longer body is not looked into before it is paid for. */
const MAX_BYTES = 64 * 1024

/**
 * True for a JSON-RPC body that asks for nothing that is sold, such as the `eth_blockNumber` that viem asks for before it
 * simulates: it is as free at `POST /v1/simulate` as at `POST /`. What is no JSON-RPC is answered with the offer.
 */
export function asksForReadsOnly(body: unknown, limits: EnvelopeLimits): boolean {
  if (!Buffer.isBuffer(body) || body.length > MAX_BYTES || body.includes(SOLD_METHOD)) return false
  try {
    const { entries } = decodeEnvelope(body.toString(), limits)
    return entries.every((entry) => entry.kind === 'request' && entry.method !== SOLD_METHOD)
  } catch {
    return false
  }
}

import { ErrorCode, quote, RpcError } from '@upfront/protocol'

const FIELDS = ['from', 'to', 'data', 'value'] as const

/**
 * Converts the query of `GET /v1/preview` to params of `upfront_simulate`: one call on `pending`, with frames and asset changes. `value` is
 * in wei, decimal or hex.
 * @throws RpcError -32602 (HTTP 400) that names the field
 */
export function previewParams(query: unknown): unknown[] {
  const given = query as Record<string, unknown>
  const unknown = Object.keys(given).find((name) => !FIELDS.some((field) => field === name))
  if (unknown !== undefined) throw invalid(`${quote(unknown)}: not known; there are ${FIELDS.join(', ')}`)
  const text = (name: (typeof FIELDS)[number], pattern: RegExp, expected: string): string | undefined => {
    const value = given[name]
    if (value === undefined) return undefined
    if (typeof value !== 'string' || !pattern.test(value))
      throw invalid(`${name}: expected ${expected}, got ${quote(value)}`)
    return value
  }
  const address = /^0x[0-9a-fA-F]{40}$/
  const from = text('from', address, 'an address')
  const to = text('to', address, 'an address')
  const data = text('data', /^0x(?:[0-9a-fA-F]{2})*$/, 'hex bytes')
  const value = text('value', /^(?:0x[0-9a-fA-F]{1,64}|\d{1,78})$/, 'an amount in wei')
  if (to === undefined && data === undefined) throw invalid('to: is missing')
  const wei = BigInt(value ?? 0)
  if (wei >= 1n << 256n) throw invalid('value: expected an amount below 2^256')
  const call = {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(data === undefined ? {} : { input: data }),
    value: `0x${wei.toString(16)}`,
  }
  const shown = { traceTransfers: true, trace: { tracer: 'callTracer' }, assetChanges: true, decode: true }
  return [{ blockStateCalls: [{ calls: [call] }], ...shown }, 'pending']
}

function invalid(message: string): RpcError {
  return new RpcError(ErrorCode.invalidParams, message, undefined, 400)
}

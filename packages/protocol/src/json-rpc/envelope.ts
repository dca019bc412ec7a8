import { quote } from '../decode/quote.js'
import type { Parts } from '../parts.js'
import { ErrorCode, RpcError } from '../rpc-error.js'
import { parseBody } from './byte-keyed.js'
import { boundExceeded, invalidRequest, type JsonBounds, refuseExceeded } from './nesting.js'
import { parseInParts } from './parse-in-parts.js'

export type RpcId = string | number | null

export interface RpcFailure {
  jsonrpc: '2.0'
  id: RpcId
  error: { code: number; message: string; data?: unknown }
}

/** One entry of a body: a call, or the reason why it is not a request. */
export type EnvelopeEntry =
  | { kind: 'request'; id: RpcId; method: string; params: unknown }
  /** Without `id`: executed but not answered. */
  | { kind: 'notification'; method: string; params: unknown }
  /** `id` is null if it could not be read. */
  | { kind: 'invalid'; id: RpcId; error: RpcError }

/** A JSON-RPC 2.0 body: one entry, or a batch, whose answers are returned as an array. */
export interface Envelope {
  batch: boolean
  entries: EnvelopeEntry[]
}

export interface EnvelopeLimits extends JsonBounds {
  /** Most entries in a batch. */
  batchLength: number
}

export const DEFAULT_ENVELOPE_LIMITS: EnvelopeLimits = { depth: 64, values: 2_000_000, batchLength: 100 }

/**
 * Reads a JSON-RPC 2.0 body (https://www.jsonrpc.org/specification).
 * @throws RpcError -32700 if it is not JSON, -32600 if it is not a request or batch, -32005 if a batch is too long. These answer the whole
 * body, with `id` null; an invalid entry of a batch becomes an entry of kind `invalid`.
 */
export function decodeEnvelope(text: string, limits: EnvelopeLimits = DEFAULT_ENVELOPE_LIMITS): Envelope {
  return envelopeOf(parseJson(text, limits, parseBody), limits)
}

/** Like {@link decodeEnvelope} for a long body (text or UTF-8 bytes), in parts. */
export function* decodeEnvelopeInParts(whole: string | Buffer, limits: EnvelopeLimits): Parts<Envelope> {
  return envelopeOf(yield* jsonInParts(whole, limits, true), limits)
}

/** Like {@link parseJson} for long JSON (text or UTF-8 bytes), in parts. */
export function parseJsonInParts(whole: string | Buffer, bounds: JsonBounds): Parts<unknown> {
  return jsonInParts(whole, bounds, false)
}

function* jsonInParts(whole: string | Buffer, bounds: JsonBounds, lists: boolean): Parts<unknown> {
  try {
    return yield* parseInParts(typeof whole === 'string' ? Buffer.from(whole) : whole, bounds, { lists })
  } catch (error) {
    throw error instanceof RpcError ? error : notJson()
  }
}

function envelopeOf(body: unknown, limits: EnvelopeLimits): Envelope {
  if (!Array.isArray(body)) return { batch: false, entries: [decodeEntry(body)] }
  if (body.length === 0) throw invalidRequest('the batch is empty')
  if (body.length > limits.batchLength)
    throw new RpcError(
      ErrorCode.limitExceeded,
      `the batch has ${body.length} requests, expected at most ${limits.batchLength}`,
    )
  return { batch: true, entries: body.map(decodeEntry) }
}

/**
 * Parses JSON within `bounds`.
 * @throws RpcError -32700 if it is not JSON, -32600 if it exceeds a bound
 */
export function parseJson(text: string, bounds: JsonBounds, parse: (text: string) => unknown = JSON.parse): unknown {
  const exceeded = boundExceeded(text, bounds)
  if (exceeded !== undefined) refuseExceeded(exceeded, bounds)
  try {
    return parse(text)
  } catch {
    throw notJson()
  }
}

function notJson(): RpcError {
  return new RpcError(ErrorCode.parseError, 'the body is not valid JSON')
}

function decodeEntry(value: unknown): EnvelopeEntry {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'invalid', id: null, error: invalidRequest(`expected a request object, got ${quote(value)}`) }
  const { jsonrpc, id, method, params } = value as Record<string, unknown>
  const idFault = id === undefined ? undefined : faultOfId(id)
  if (idFault !== undefined) return { kind: 'invalid', id: null, error: invalidRequest(`id: ${idFault}`) }
  const fault = faultOfRequest(jsonrpc, method, params)
  if (fault !== undefined)
    return { kind: 'invalid', id: (id as RpcId | undefined) ?? null, error: invalidRequest(fault) }
  const call = { method: method as string, params }
  return id === undefined ? { kind: 'notification', ...call } : { kind: 'request', id: id as RpcId, ...call }
}

function faultOfId(id: unknown): string | undefined {
  if (id === null || typeof id === 'string') return undefined
  if (typeof id !== 'number') return `expected a string, a number or null, got ${quote(id)}`
  if (!Number.isFinite(id) || (Number.isInteger(id) && !Number.isSafeInteger(id)))
    return 'a number beyond 2^53 cannot be echoed exactly: send it as a string'
  return undefined
}

function faultOfRequest(jsonrpc: unknown, method: unknown, params: unknown): string | undefined {
  if (jsonrpc !== '2.0') return `jsonrpc: expected "2.0", got ${quote(jsonrpc)}`
  if (typeof method !== 'string') return `method: expected a string, got ${quote(method)}`
  if (params !== undefined && params !== null && typeof params !== 'object')
    return `params: expected an array or an object, got ${quote(params)}`
  return undefined
}

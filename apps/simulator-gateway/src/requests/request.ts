import type { Writable } from 'node:stream'
import { DIALECTS, type Dialect } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import type { Caller } from '../limits/free-budget.js'
import { refused } from '../limits/refused.js'
import type { RequestLimits } from '../simulate/simulation-context.js'
import type { Subscriber } from '../subscriptions/subscriber.js'

/** The limits of a request. */
export interface Budget {
  /** Milliseconds from the request's arrival to its answer. */
  timeoutMs: number
  /** Limits of each call. */
  limits: RequestLimits
}

/** A request from any entrance: HTTP, WebSocket or MCP, free or paid. */
export interface Request {
  /** ID for the log. */
  id: string
  /** The caller whose free budget it counts towards. */
  caller: Caller
  /** The account that signed a payment for it; absent if it is free. */
  payer?: string | undefined
  dialect: Dialect
  /** Closes when the client no longer waits for the answer. */
  connection: Writable
  /** Length of the body in bytes. */
  length: number
  budget: Budget
  /** Set if the connection can receive notifications. */
  subscriber?: Subscriber | undefined
}

/** The request behind a Fastify request. */
export function requestOf(
  request: FastifyRequest,
  reply: FastifyReply,
  rest: Pick<Request, 'dialect' | 'length' | 'budget' | 'payer'>,
): Request {
  return { id: request.id, caller: callerOf(request), connection: reply.raw, ...rest }
}

/** The path under which all answers have geth's format, whatever `DIALECT` is: for clients that decode answers by type. */
export const ETHEREUM_PATH = 'ethereum'

/**
 * `ethereum` under `/ethereum`; otherwise the query parameter `dialect`, by default `fallback`.
 * @throws RpcError -32600 (HTTP 400)
 */
export function dialectOf({ url, query }: { url: string; query: unknown }, fallback: Dialect): Dialect {
  const [path = ''] = url.split('?')
  if (path.split('/')[1] === ETHEREUM_PATH) return 'ethereum'
  const named = (query as { dialect?: unknown }).dialect
  if (named === undefined) return fallback
  const dialect = DIALECTS.find((known) => known === named)
  if (dialect === undefined) throw refused(400, `dialect: expected one of ${DIALECTS.join(', ')}`)
  return dialect
}

import type { Writable } from 'node:stream'
import { DIALECTS, type Dialect } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import type { Caller } from '../limits/free-budget.js'
import { refused } from '../limits/refused.js'
import type { RequestLimits } from '../simulate/simulation-context.js'
import type { Subscriber } from '../subscriptions/subscriber.js'

/** What a request may use. */
export interface Budget {
  /** From its turn to its answer. */
  timeoutMs: number
  /** Of each call in it. */
  limits: RequestLimits
}

/** A request, as every entrance makes it: by HTTP, over WebSocket, by MCP, free or paid. */
export interface Request {
  /** For the log. */
  id: string
  /** Whose free budget it counts towards. */
  caller: Caller
  /** Who has signed a payment for it; absent where it is free. */
  payer?: string | undefined
  dialect: Dialect
  /** Closes when nobody waits for the answer any more. */
  connection: Writable
  /** Of its body. */
  length: number
  budget: Budget
  /** Where it came over a connection that takes notifications. */
  subscriber?: Subscriber | undefined
}

/** Of a request that came by Fastify. */
export function requestOf(
  request: FastifyRequest,
  reply: FastifyReply,
  rest: Pick<Request, 'dialect' | 'length' | 'budget' | 'payer'>,
): Request {
  return { id: request.id, caller: callerOf(request), connection: reply.raw, ...rest }
}

/** Where everything is in geth's shapes, whatever `DIALECT` says: for clients that decode answers by type. */
export const ETHEREUM_PATH = 'ethereum'

/**
 * `ethereum` under `/ethereum`; else the `dialect` query parameter, or `fallback` where there is none.
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

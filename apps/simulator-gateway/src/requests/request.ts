import type { Writable } from 'node:stream'
import type { Dialect } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import type { Caller } from '../limits/caller.js'
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

import type { ServerResponse } from 'node:http'
import type { PaidRequest } from './paid-request.js'

type AnyResponse = ServerResponse | { raw: ServerResponse }

const payments = new WeakMap<ServerResponse, PaidRequest>()
/** @param gaveUp it threw because its payment's signal aborted */
type Done = (gaveUp: boolean) => void

const listeners = new WeakMap<ServerResponse, Done>()

/** Express answers with Node's response itself, Fastify with a reply around it. */
export function rawResponse(response: AnyResponse): ServerResponse {
  return 'raw' in response ? response.raw : response
}

export function paymentOf(response: AnyResponse): PaidRequest | undefined {
  return payments.get(rawResponse(response))
}

export function rememberPayment(response: ServerResponse, payment: PaidRequest): void {
  payments.set(response, payment)
}

/** `done` is called when the handler has returned, thrown, or was left because its client is gone. */
export function rememberDone(response: ServerResponse, done: Done): void {
  listeners.set(response, done)
}

export function handlerDone(response: AnyResponse, gaveUp: boolean): void {
  listeners.get(rawResponse(response))?.(gaveUp)
}

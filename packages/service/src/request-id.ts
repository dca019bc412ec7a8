import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const ACCEPTABLE = /^[A-Za-z0-9._:-]{1,64}$/
const process = randomBytes(6).toString('base64url')
let count = 0

/** The request's ID in logs and answers. */
export function requestId(request: IncomingMessage): string {
  return acceptedRequestId(request.headers['x-request-id'])
}

/** The caller's `x-request-id` if it is safe to log and echo, otherwise an ID that is unique across processes. */
export function acceptedRequestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && ACCEPTABLE.test(given) ? given : `${process}-${(++count).toString(36)}`
}

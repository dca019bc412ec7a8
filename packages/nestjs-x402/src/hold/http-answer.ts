import type { OutgoingHttpHeaders } from 'node:http'

/** A whole answer, as it is sent. */
export interface HttpAnswer {
  status: number
  headers: OutgoingHttpHeaders
  body: Buffer
}

/** One in JSON, which no cache keeps. */
export function jsonAnswer(status: number, body: object, headers: OutgoingHttpHeaders = {}): HttpAnswer {
  return {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  }
}

import type { OutgoingHttpHeaders } from 'node:http'

/** A complete HTTP answer. */
export interface HttpAnswer {
  status: number
  headers: OutgoingHttpHeaders
  body: Buffer
}

/** A JSON answer that caches must not store. */
export function jsonAnswer(status: number, body: object, headers: OutgoingHttpHeaders = {}): HttpAnswer {
  return {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  }
}

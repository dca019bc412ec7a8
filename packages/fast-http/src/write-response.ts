import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { writeInSlices } from './write-in-slices.js'

export interface ResponseOptions {
  /** Name, value, name, value …; without content-length, date and connection. */
  headers: readonly string[]
  /** Parts, sent in order; empty for an answer without a body. */
  body: readonly (string | Buffer)[]
  /** Seconds that the connection stays open; undefined closes it after this answer. */
  keepAliveSeconds: number | undefined
  /** Called once the answer is written and the socket has room again, or once it can't be written. */
  onWritten: () => void
}

/** Writes a complete response, with the headers that Node's server would add. */
export function writeResponse(socket: Socket, status: number, options: ResponseOptions): void {
  const { headers, body, keepAliveSeconds, onWritten } = options
  let [bytes, characters] = [0, 0]
  for (const part of body) {
    bytes += Buffer.byteLength(part)
    characters += part.length
  }
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`
  if (body.length > 0) head += `content-length: ${bytes}\r\n`
  head += `date: ${httpDate()}\r\nconnection: `
  head +=
    keepAliveSeconds === undefined ? 'close\r\n\r\n' : `keep-alive\r\nkeep-alive: timeout=${keepAliveSeconds}\r\n\r\n`
  // For ASCII both encodings give the same bytes, and Node writes latin1 faster.
  const encoding = bytes === characters ? 'latin1' : 'utf8'
  const [only] = body
  const parts = body.length === 1 && typeof only === 'string' ? [head + only] : [head, ...body]
  writeInSlices(socket, parts, (slice) => socket.write(slice, encoding), onWritten)
}

let second = 0
let date = ''

function httpDate(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) [second, date] = [now, new Date(now * 1000).toUTCString()]
  return date
}

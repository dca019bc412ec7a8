import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { writeInSlices } from './write-in-slices.js'

export interface ResponseOptions {
  /** Without content-length, date and connection: name, value, name, value … */
  headers: readonly string[]
  /** Parts, sent one after another; none where the answer has no body. */
  body: readonly (string | Buffer)[]
  /** Seconds that the connection stays open; undefined where this answer is its last. */
  keepAliveSeconds: number | undefined
  /** Called once it is written and the socket has room again, or can't be written. */
  onWritten: () => void
}

/** Writes a whole response, with the headers that Node's server would give it. */
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
  // ASCII is the same in both, and Node writes latin1 faster.
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

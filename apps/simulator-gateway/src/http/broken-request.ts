import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { failureBody, failureOf } from '../rpc/failure.js'

/** Answers what is not HTTP or did not arrive in time, which never reaches a handler, and reads no further. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, message] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? [408, 'the request did not arrive in time']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'the headers are too long']
        : [400, 'the request is not valid HTTP']
  const body = failureBody(null, failureOf(new RpcError(ErrorCode.invalidRequest, message)))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  socket.destroySoon()
}

import type { IncomingMessage } from 'node:http'
import type { MemoryShare } from '@upfront/fast-http'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import { clientOf } from '../limits/client-of.js'
import type { Memory } from '../limits/memory.js'

/** As geth takes them. */
const JSON_TYPES = ['application/json', 'application/json-rpc', 'application/jsonrequest']

type Done = (error: Error | null, body?: Buffer) => void

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes that count towards the budget until the response is closed. */
    heldBytes: number
    bodyMemory: MemoryShare | undefined
  }
}

/**
 * Gives handlers JSON bodies as bytes; they parse them. Refuses other media types and content encodings (415), bodies that are too
 * long (413) and those that would take too much memory together with all others (503).
 */
export function acceptJsonBodies(server: FastifyInstance, maxBytes: number, memory: Memory): void {
  server.decorateRequest('heldBytes', 0)
  server.decorateRequest('bodyMemory', undefined)
  server.removeAllContentTypeParsers()
  server.addHook('onRequest', (request, reply, done) => {
    const { headers } = request.raw
    const encoding = headers['content-encoding']
    if (encoding !== undefined && encoding !== 'identity') {
      return done(
        new RpcError(ErrorCode.invalidRequest, 'content-encoding: send the body uncompressed', undefined, 415),
      )
    }
    if (Number(headers['content-length']) > maxBytes) return done(tooLong(maxBytes))
    const share = memory.bodiesOf(clientOf(callerOf(request)))
    request.bodyMemory = share
    reply.raw.once('close', () => share.give(request.heldBytes))
    done()
  })
  server.addContentTypeParser(JSON_TYPES, (request: FastifyRequest, payload: IncomingMessage, done: Done) => {
    receive(request, payload, done)
  })

  function receive(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
    const chunks: Buffer[] = []
    let length = 0
    const stop = (error: Error | null, body?: Buffer) => {
      payload.off('data', onData).off('end', onEnd).off('error', onError)
      done(error, body)
    }
    const refuse = (error: Error) => {
      chunks.length = 0
      stop(error)
      payload.resume()
    }
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) return refuse(tooLong(maxBytes))
      try {
        request.bodyMemory?.take(chunk.length)
      } catch (error) {
        return refuse(error as Error)
      }
      request.heldBytes += chunk.length
      chunks.push(chunk)
    }
    const onEnd = () => stop(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    const onError = () => refuse(new RpcError(ErrorCode.invalidRequest, 'the body was cut short', undefined, 400))
    payload.on('data', onData).on('end', onEnd).on('error', onError)
  }
}

function tooLong(maxBytes: number): RpcError {
  return new RpcError(ErrorCode.invalidRequest, `the body is longer than ${maxBytes} bytes`, undefined, 413)
}

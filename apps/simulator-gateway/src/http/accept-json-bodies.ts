import type { IncomingMessage } from 'node:http'
import { type MemoryShare, REST_OF_BODY_MS, ReceivedBytes } from '@upfront/fast-http'
import { RpcError } from '@upfront/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import { clientOf } from '../limits/client-of.js'
import { LONG_BODIES } from '../limits/long-bodies.js'
import { type Memory, SMALL_BYTES } from '../limits/memory.js'
import { refused } from '../limits/refused.js'

/** A chunk takes as long to read as about a hundred bytes: a body in many more chunks than networks make is refused. */
const MAX_PIECES = 1_024
const BYTES_OF_A_PIECE = 128

/** The media types that geth accepts. */
const JSON_TYPES = ['application/json', 'application/json-rpc', 'application/jsonrequest']

type Done = (error: Error | null, body?: Buffer) => void

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes counted towards the memory budget until the response is closed. */
    heldBytes: number
    bodyMemory: MemoryShare | undefined
  }
}

/**
 * Passes JSON bodies to handlers as bytes; handlers parse them. Refuses other media types and content encodings (415), bodies that are too
 * long (413) and bodies that don't fit into memory with all others (503).
 */
export function acceptJsonBodies(server: FastifyInstance, maxBytes: number, memory: Memory): void {
  server.decorateRequest('heldBytes', 0)
  server.decorateRequest('bodyMemory', undefined)
  server.removeAllContentTypeParsers()
  server.addHook('onRequest', (request, reply, done) => {
    const { headers } = request.raw
    const encoding = headers['content-encoding']
    if (encoding !== undefined && encoding !== 'identity')
      return done(refused(415, 'content-encoding: send the body uncompressed'))
    if (Number(headers['content-length']) > maxBytes) return done(tooLong(maxBytes))
    const share = memory.bodiesOf(clientOf(callerOf(request)))
    request.bodyMemory = share
    reply.raw.once('close', () => share.give(request.heldBytes))
    done()
  })
  server.addHook('onResponse', ({ raw }, _, done) => {
    if (raw.complete === false) endUnlessComplete(raw)
    done()
  })
  server.addContentTypeParser(JSON_TYPES, (request: FastifyRequest, payload: IncomingMessage, done: Done) => {
    receive(request, payload, done)
  })

  function receive(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
    let pieces = 0
    const received = new ReceivedBytes()
    received.most = Number(request.headers['content-length']) || maxBytes
    const stop = (error: Error | null, body?: Buffer) => {
      payload.off('data', onData).off('end', onEnd).off('error', onError)
      done(error, body)
    }
    const refuse = (error: Error) => {
      received.drop(received.length)
      stop(error)
      payload.resume()
    }
    const onData = (piece: Buffer) => {
      if (received.length + piece.length > maxBytes) return refuse(tooLong(maxBytes))
      received.add(piece)
      pieces += 1
      if (pieces > MAX_PIECES + received.length / BYTES_OF_A_PIECE)
        return refuse(refused(400, 'the body arrives in too many small chunks'))
      try {
        request.bodyMemory?.take(received.held - request.heldBytes)
      } catch (error) {
        return refuse(error as Error)
      }
      request.heldBytes = received.held
      if (received.length <= SMALL_BYTES) return
      payload.pause()
      void LONG_BODIES.next().then(() => payload.resume())
    }
    const onEnd = () => stop(null, received.join())
    const onError = () => refuse(refused(400, 'the body is incomplete'))
    payload.on('data', onData).on('end', onEnd).on('error', onError)
  }
}

/**
 * For a request answered before its whole body arrived. The rest is read for at most `REST_OF_BODY_MS`, because it may come in one-byte
 * chunks, then the connection is closed; at once if the length of the body is unknown.
 */
function endUnlessComplete(message: IncomingMessage): void {
  if (message.headers['content-length'] === undefined) {
    message.socket.destroySoon()
    return
  }
  const timer = setTimeout(() => message.socket.destroy(), REST_OF_BODY_MS)
  message.once('close', () => clearTimeout(timer))
  message.resume()
}

function tooLong(maxBytes: number): RpcError {
  return refused(413, `the body is longer than ${maxBytes} bytes`)
}

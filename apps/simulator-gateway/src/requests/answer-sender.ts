import { Readable, type Writable } from 'node:stream'
import { Injectable } from '@nestjs/common'
import { inSlices } from '@upfront/fast-http'
import { type JsonText, joinJson } from '@upfront/protocol'
import type { FastifyReply } from 'fastify'
import { FIXED } from '../environment/fixed.js'
import { Memory, SMALL_BYTES } from '../limits/memory.js'
import { RETRY_AFTER_SECONDS } from '../limits/refused.js'
import { STATE_HEADER } from '../pending/answer-state.js'
import type { RequestView } from '../pending/request-view.js'
import type { RpcAnswer } from './rpc-method.js'

/** Sends answers. Long ones count as memory until they are read, must be read in time, and are sent in slices. */
@Injectable()
export class AnswerSender {
  constructor(private readonly memory: Memory) {}

  /**
   * Sends an answer through Fastify, with the header that names its state.
   * @param isHeld the answer is buffered until it is paid for, and sliced when it is sent
   * @throws Overloaded if it is long and memory is short
   */
  send(
    reply: FastifyReply,
    { status, body }: RpcAnswer,
    { header }: Pick<RequestView, 'header'>,
    isHeld = false,
  ): void {
    reply.code(status)
    if (status === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
    if (header !== undefined) reply.header(STATE_HEADER, header)
    if (body === undefined) {
      reply.send()
      return
    }
    reply.header('content-type', 'application/json; charset=utf-8')
    const length = lengthOf(body)
    const done = this.hold(length, reply.raw)
    if (done !== undefined) reply.raw.once('close', done)
    if (isHeld || length <= SMALL_BYTES) {
      reply.send(joinJson(body))
      return
    }
    reply.header(
      'content-length',
      body.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0),
    )
    reply.send(Readable.from(inSlices(body), { objectMode: false }))
  }

  /**
   * Counts a long answer, and closes the connection if the client does not read it in time.
   * @returns a function to call once it is sent or its client has gone
   * @throws Overloaded
   */
  hold(bytes: number, connection: Writable): (() => void) | undefined {
    const give = this.memory.hold(bytes)
    if (give === undefined) return undefined
    const read = endUnlessRead(connection, FIXED.answerMs)
    return () => {
      read()
      give()
    }
  }
}

/** Length of an answer: characters of strings, bytes of buffers. */
export function lengthOf(body: readonly JsonText[]): number {
  let length = 0
  for (const part of body) length += part.length
  return length
}

/**
 * Closes a connection whose client does not read its answer in time: unread answers take memory.
 * @returns a function to call once the answer is sent or its client has gone
 */
export function endUnlessRead(connection: Writable, timeoutMs: number): () => void {
  const timer = setTimeout(() => connection.destroy(), timeoutMs)
  return () => clearTimeout(timer)
}

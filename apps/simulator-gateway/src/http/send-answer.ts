import { joinJson } from '@upfront/protocol'
import type { FastifyReply } from 'fastify'
import type { Memory } from '../limits/memory.js'
import { RETRY_AFTER_SECONDS } from '../limits/overloaded.js'
import { STATE_HEADER } from '../pending/answer-state.js'
import type { RequestView } from '../pending/request-view.js'
import type { RpcAnswer } from '../rpc/rpc.service.js'
import { endUnlessRead } from './unread-answers.js'

/**
 * Sends an answer, with a header that names the state it is based on.
 * @param timeoutMs within which a long one must be read
 * @throws Overloaded where it is long and memory is short
 */
export function sendAnswer(
  reply: FastifyReply,
  { status, body }: RpcAnswer,
  { header }: RequestView,
  memory: Memory,
  timeoutMs: number,
): void {
  reply.code(status)
  if (status === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  if (header !== undefined) reply.header(STATE_HEADER, header)
  if (body === undefined) {
    reply.send()
  } else {
    const text = joinJson(body)
    const give = memory.hold(text.length)
    if (give !== undefined) reply.raw.once('close', give).once('close', endUnlessRead(reply.raw, timeoutMs))
    reply.header('content-type', 'application/json; charset=utf-8').send(text)
  }
}

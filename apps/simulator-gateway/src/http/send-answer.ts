import { joinJson } from '@upfront/protocol'
import type { FastifyReply } from 'fastify'
import type { BufferedBytes } from '../limits/buffered-bytes.js'
import { answerStateToHeader, STATE_HEADER } from '../pending/answer-state.js'
import type { RequestView } from '../pending/request-view.js'
import type { RpcAnswer } from '../rpc/rpc.service.js'

/** Sends an answer, with a header that names the state it is based on. @throws Overloaded where it is long and memory is short */
export function sendAnswer(
  reply: FastifyReply,
  { status, body }: RpcAnswer,
  { answerState }: RequestView,
  buffered: BufferedBytes,
): void {
  reply.code(status)
  if (answerState) reply.header(STATE_HEADER, answerStateToHeader(answerState))
  if (body === undefined) {
    reply.send()
  } else {
    const text = joinJson(body)
    const give = buffered.hold(text.length)
    if (give !== undefined) reply.raw.once('close', give)
    reply.header('content-type', 'application/json; charset=utf-8').send(text)
  }
}

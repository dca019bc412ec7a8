import { Controller, Post, Req, Res } from '@nestjs/common'
import { DIALECTS, type Dialect, ErrorCode, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment.js'
import { Admission } from '../http/admission.js'
import { RequestLifetime } from '../http/request-lifetime.js'
import { RpcService } from './rpc.service.js'

@Controller()
export class RpcController {
  constructor(
    private readonly rpc: RpcService,
    private readonly admission: Admission,
    private readonly environment: Environment,
  ) {}

  @Post()
  async serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const dialect = this.dialectOf(request.query)
    const lifetime = new RequestLifetime(reply.raw, this.environment.REQUEST_TIMEOUT_MS)
    try {
      const turn = this.admission.enter(lifetime.signal)
      if (turn !== undefined) await turn
      try {
        const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
        const { signal, deadline } = lifetime
        const answer = await this.rpc.answer(body, { signal, deadline, requestId: request.id, dialect })
        reply.code(answer.status)
        if (answer.body === undefined) reply.send()
        else reply.header('content-type', 'application/json; charset=utf-8').send(answer.body)
      } finally {
        this.admission.leave()
      }
    } finally {
      lifetime.end()
    }
  }

  private dialectOf(query: unknown): Dialect {
    const named = (query as { dialect?: unknown }).dialect
    if (named === undefined) return this.environment.DIALECT
    const dialect = DIALECTS.find((known) => known === named)
    if (dialect === undefined) {
      throw new RpcError(ErrorCode.invalidRequest, `dialect: expected one of ${DIALECTS.join(', ')}`, undefined, 400)
    }
    return dialect
  }
}

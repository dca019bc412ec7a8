import { Controller, Post, Req, Res } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment.js'
import { Admission } from '../http/admission.js'
import { BufferedBytes } from '../http/buffered-bytes.js'
import { FreeRateLimit } from '../http/free-rate-limit.js'
import { RequestLifetime } from '../http/request-lifetime.js'
import { RequestView } from '../pending/request-view.js'
import { dialectOf } from './dialect.js'
import { RpcService } from './rpc.service.js'
import { sendAnswer } from './send-answer.js'

@Controller()
export class RpcController {
  constructor(
    private readonly rpc: RpcService,
    private readonly admission: Admission,
    private readonly freeRate: FreeRateLimit,
    private readonly buffered: BufferedBytes,
    private readonly environment: Environment,
  ) {}

  @Post()
  async serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const dialect = dialectOf(request.query, this.environment.DIALECT)
    const lifetime = new RequestLifetime(reply.raw, this.environment.REQUEST_TIMEOUT_MS)
    try {
      const turn = this.admission.enter(lifetime.signal)
      if (turn !== undefined) await turn
      try {
        const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
        const { signal, deadline } = lifetime
        const view = new RequestView()
        const admit = (calls: number) => this.freeRate.takeMore(request.ip, calls - 1)
        const context = { signal, deadline, requestId: request.id, dialect, view, admit }
        sendAnswer(reply, await this.rpc.answer(body, context), view, this.buffered)
      } finally {
        this.admission.leave()
      }
    } finally {
      lifetime.end()
    }
  }
}

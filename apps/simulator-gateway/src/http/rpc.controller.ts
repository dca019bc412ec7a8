import { Controller, Post, Req, Res } from '@nestjs/common'
import type { Awaitable } from '@upfront/node'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'
import { AnswerSender } from '../requests/answer-sender.js'
import { dialectOf, ETHEREUM_PATH, requestOf } from '../requests/request.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'

/** `POST /` and `POST /ethereum`: JSON-RPC 2.0. `PlainFront` answers plain `POST /` requests before they reach this. */
@Controller()
export class RpcController {
  constructor(
    private readonly endpoint: RpcEndpoint,
    private readonly sender: AnswerSender,
    private readonly environment: Environment,
  ) {}

  @Post(['/', ETHEREUM_PATH])
  serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Awaitable<void> {
    const dialect = dialectOf(request, this.environment.DIALECT)
    const body = Buffer.isBuffer(request.body) ? request.body : ''
    return this.endpoint.serve(
      requestOf(request, reply, { dialect, length: body.length, budget: this.endpoint.free }),
      body,
      (answer, view) => this.sender.send(reply, answer, view),
    )
  }
}

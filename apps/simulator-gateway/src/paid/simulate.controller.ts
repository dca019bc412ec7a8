import { Controller, Post, Req, Res } from '@nestjs/common'
import { type PaidRequest, Payment } from '@upfront/nestjs-x402'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'
import { dialectOf } from '../http/dialect.js'
import { sendAnswer } from '../http/send-answer.js'
import { BufferedBytes } from '../limits/buffered-bytes.js'
import { ClientGone } from '../limits/request-lifetime.js'
import { RequestView } from '../pending/request-view.js'
import { RpcService } from '../rpc/rpc.service.js'
import { RpcJournal } from '../rpc/rpc-journal.js'
import type { RpcMethod } from '../rpc/rpc-method.js'
import { MeteredCharge } from './metered-charge.js'
import { PaidSimulator } from './paid-simulator.js'

/** `POST /v1/simulate`: `eth_simulateV1`, one call or a batch for each payment. */
@Controller('v1/simulate')
export class SimulateController {
  constructor(
    private readonly simulator: PaidSimulator,
    private readonly journal: RpcJournal,
    private readonly buffered: BufferedBytes,
    private readonly environment: Environment,
  ) {}

  /** The answer of `POST /`, each `result` with its `charge` beside it. What is refused has an `error`, and costs nothing. */
  @Post()
  async serve(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Payment() payment: PaidRequest,
  ): Promise<void> {
    const charge = new MeteredCharge(this.environment.PRICE_LIST, payment)
    const dialect = dialectOf(request.query, this.environment.DIALECT)
    const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
    const view = new RequestView()
    const sold = new Map([['eth_simulateV1', this.selling(charge)]])
    const rpc = new RpcService(sold, this.journal, this.environment)
    const answer = await this.simulator.inTurn(reply.raw, async ({ signal, deadline }) => {
      const made = await rpc.answer(body, { signal, deadline, requestId: request.id, dialect, view })
      if (signal.reason instanceof ClientGone) throw signal.reason
      return made
    })
    sendAnswer(reply, answer, view, this.buffered)
  }

  private selling(charge: MeteredCharge): RpcMethod {
    return async (params, context) => {
      if (charge.reachedMaximum) {
        throw new RpcError(
          ErrorCode.limitExceeded,
          'not carried out: the calls before it cost the signed maximum already',
        )
      }
      const answer = await this.simulator.simulate(params, context)
      return { result: answer.json, charge: JSON.stringify(charge.add(answer)) }
    }
  }
}

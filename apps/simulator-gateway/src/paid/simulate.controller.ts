import { Controller, Post, Req, Res } from '@nestjs/common'
import { type PaidRequest, Payment } from '@upfront/nestjs-x402'
import { ErrorCode, plainJson, RpcError, type SimulatedBlock } from '@upfront/protocol'
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
import { ReceiptIssuer } from './receipt-issuer.js'

/** `POST /v1/simulate`: `eth_simulateV1`, one call or a batch for each payment. */
@Controller('v1/simulate')
export class SimulateController {
  constructor(
    private readonly simulator: PaidSimulator,
    private readonly journal: RpcJournal,
    private readonly buffered: BufferedBytes,
    private readonly issuer: ReceiptIssuer,
    private readonly environment: Environment,
  ) {}

  /** The answer of `POST /`, each `result` with its `charge` and `receipt` beside it. What is refused has an `error`, and costs nothing. */
  @Post()
  async serve(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Payment() payment: PaidRequest,
  ): Promise<void> {
    const charge = new MeteredCharge(this.environment.PRICE_LIST, payment, this.issuer)
    const dialect = dialectOf(request.query, this.environment.DIALECT)
    const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
    const view = new RequestView()
    const sold = new Map([['eth_simulateV1', this.selling(charge)]])
    const rpc = new RpcService(sold, this.journal, this.environment)
    const answer = await this.simulator.inTurn(payment.payer, reply.raw, async ({ signal, deadline }) => {
      const made = await rpc.answer(body, { signal, deadline, requestId: request.id, dialect, view })
      if (signal.reason instanceof ClientGone) throw signal.reason
      return made
    })
    sendAnswer(reply, answer, view, this.buffered, this.environment.ANSWER_TIMEOUT_MS)
  }

  private selling(charge: MeteredCharge): RpcMethod {
    return async (params, context) => {
      if (charge.reachedMaximum) {
        throw new RpcError(
          ErrorCode.limitExceeded,
          'not carried out: the calls before it cost the signed maximum already',
        )
      }
      const paid = await this.simulator.simulate(params, context)
      const { json } = paid.answer
      const bill = await charge.add(paid, () => {
        const blocks: SimulatedBlock[] = JSON.parse(json.toString())
        const { dialect } = context
        return { method: 'eth_simulateV1', dialect, params: plainJson(params), result: blocks, blocks }
      })
      const beside = Object.entries(bill).map(([name, value]) => [name, JSON.stringify(value)])
      return { result: json, beside: Object.fromEntries(beside) }
    }
  }
}

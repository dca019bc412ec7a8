import { Controller, Get, Query, Req, Res } from '@nestjs/common'
import { type PaidRequest, Payment } from '@upfront/nestjs-x402'
import { type ErrorCode, type JsonText, joinJson, RpcError } from '@upfront/protocol'
import { previewParams } from '@upfront/receipt'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'
import { Overloaded } from '../limits/refused.js'
import { answerStateToHeader, STATE_HEADER } from '../pending/answer-state.js'
import { requestOf } from '../requests/request.js'
import { extraFieldsJson } from '../requests/rpc-method.js'
import { failureOf } from '../rpc/failure.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import { MeteredCharge } from './metered-charge.js'
import { PaidSimulator, wantsWitness } from './paid-simulator.js'
import { ReceiptIssuer } from './receipt-issuer.js'

/** `GET /v1/preview`, and `GET /v1/preview/plain`, whose offer has no extensions. */
@Controller('v1/preview')
export class PreviewController {
  constructor(
    private readonly simulator: PaidSimulator,
    private readonly endpoint: RpcEndpoint,
    private readonly issuer: ReceiptIssuer,
    private readonly environment: Environment,
  ) {}

  @Get('plain')
  plain(
    @Query() query: Record<string, unknown>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Payment() payment: PaidRequest,
  ): Promise<JsonText> {
    return this.preview(query, request, reply, payment)
  }

  @Get()
  async preview(
    @Query() { witness, ...query }: Record<string, unknown>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Payment() payment: PaidRequest,
  ): Promise<JsonText> {
    try {
      const charge = new MeteredCharge(this.environment.PRICE_LIST, payment, this.issuer)
      const params = previewParams(query)
      const withWitness = wantsWitness({ witness })
      const asked = { dialect: 'upfront', length: 0, budget: this.endpoint.paid, payer: payment.payer } as const
      const { paid, context } = await this.endpoint.admit(requestOf(request, reply, asked), async (context) => ({
        paid: await this.simulator.simulate('upfront_simulate', params, context, { withWitness }),
        context,
      }))
      const { view } = context
      if (view.answerState) reply.header(STATE_HEADER, answerStateToHeader(view.answerState))
      const { digester } = this.issuer
      const { preview = '', hash, gas } = await digester.digest({ preview: paid.block }, paid.answer.json)
      const exchange = { dialect: 'upfront', params: query, resultHash: hash, gas } as const
      const extraFields = await charge.add('preview', paid, () => exchange, context)
      reply.type('application/json; charset=utf-8')
      return joinJson([preview.slice(0, -1), ...extraFieldsJson(extraFields), '}'])
    } catch (error) {
      const { error: failure, httpStatus } = failureOf(error)
      if (httpStatus === 500 || error instanceof Overloaded) throw error
      throw new RpcError(failure.code as ErrorCode, failure.message, failure.data, Math.max(httpStatus, 400))
    }
  }
}

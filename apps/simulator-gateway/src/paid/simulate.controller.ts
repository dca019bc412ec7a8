import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common'
import { type PaidRequest, Payment } from '@upfront/nestjs-x402'
import { decodeEnvelope, type EnvelopeEntry, ErrorCode, quote, RpcError, type RpcId } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment.js'
import { RequestView } from '../pending/request-view.js'
import { STATE_HEADER, standingToHeader } from '../pending/standing.js'
import { dialectOf } from '../rpc/dialect.js'
import { failureBody, failureOf } from '../rpc/failure.js'
import { chargeFor } from './metered-charge.js'
import { PaidSimulator } from './paid-simulator.js'
import { PRICE_LIST, type PriceList } from './price-list.js'

/** `POST /v1/simulate`: one `eth_simulateV1` for each payment. */
@Controller('v1/simulate')
export class SimulateController {
  constructor(
    private readonly simulator: PaidSimulator,
    private readonly environment: Environment,
    @Inject(PRICE_LIST) private readonly prices: PriceList,
  ) {}

  /** The answer of `POST /` with a `charge` beside the `result`. What is refused has an `error`, and costs nothing. */
  @Post()
  @HttpCode(200)
  async serve(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Payment() payment: PaidRequest,
  ): Promise<void> {
    payment.setSettlementAmount('0')
    const json = reply.header('content-type', 'application/json; charset=utf-8')
    let id: RpcId = null
    try {
      const dialect = dialectOf(request.query, this.environment.DIALECT)
      const entry = this.readEntry(request.body)
      id = entry.id
      if (entry.method !== 'eth_simulateV1') {
        throw new RpcError(ErrorCode.methodNotFound, `only eth_simulateV1 is sold here, not ${quote(entry.method)}`)
      }
      const view = new RequestView()
      const answer = await this.simulator.simulate(entry.params, dialect, view, reply.raw)
      if (view.standing) json.header(STATE_HEADER, standingToHeader(view.standing))
      const charge = chargeFor(answer, this.prices, payment)
      json.send(JSON.stringify({ jsonrpc: '2.0', id, result: answer.blocks, charge }))
    } catch (error) {
      const failure = failureOf(error)
      if (failure.httpStatus === 500) throw error
      json.code(failure.httpStatus).send(failureBody(id, failure))
    }
  }

  private readEntry(body: unknown): EnvelopeEntry & { kind: 'request' } {
    const { MAX_JSON_VALUES: values } = this.environment
    const { batch, entries } = decodeEnvelope(Buffer.isBuffer(body) ? body.toString() : '', {
      depth: 64,
      values,
      batchLength: 1,
    })
    const [entry] = entries
    if (batch || entry === undefined) {
      throw new RpcError(ErrorCode.invalidRequest, 'one call is paid for at a time: send no batch')
    }
    if (entry.kind === 'invalid') throw entry.error
    if (entry.kind === 'notification') {
      throw new RpcError(ErrorCode.invalidRequest, 'id: is missing, and a paid call wants its answer')
    }
    return entry
  }
}

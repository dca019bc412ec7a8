import { Controller, Post, Req, Res } from '@nestjs/common'
import { Settlement } from '@upfront/nestjs-x402'
import { ErrorCode, plainJson, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { dialectOf, ETHEREUM_PATH } from '../http/dialect.js'
import { ClientGone } from '../limits/client-gone.js'
import { FreeBudget } from '../limits/free-budget.js'
import { Admission } from '../requests/admission.js'
import { AnswerSender } from '../requests/answer-sender.js'
import { requestOf } from '../requests/request.js'
import type { RequestContext } from '../requests/request-context.js'
import type { RpcResult } from '../requests/rpc-method.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import type { SimulationMethod } from '../simulate/simulator.js'
import { isSold } from './free-reads.js'
import { MeteredCharge } from './metered-charge.js'
import { PaidSimulator } from './paid-simulator.js'
import { ReceiptIssuer } from './receipt-issuer.js'
import { wantsWitness } from './wants-witness.js'

/**
 * `POST /v1/simulate` and `POST /ethereum/v1/simulate`: `eth_simulateV1` and `upfront_simulate`, one call or a batch for each payment.
 */
@Controller(['v1/simulate', `${ETHEREUM_PATH}/v1/simulate`])
export class SimulateController {
  constructor(
    private readonly simulator: PaidSimulator,
    private readonly sender: AnswerSender,
    private readonly issuer: ReceiptIssuer,
    private readonly environment: Environment,
    private readonly settlement: Settlement,
    private readonly endpoint: RpcEndpoint,
    private readonly free: FreeBudget,
    private readonly admission: Admission,
  ) {}

  /**
   * The answer of `POST /`, each simulation's `result` with its `charge` and `receipt` beside it, and with its `witness` where
   * `witness=1` asks for one. What is refused has an `error`, and costs nothing. Other methods are free, within the limits of
   * `POST /`.
   */
  @Post()
  async serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const dialect = dialectOf(request, this.environment.DIALECT)
    const body = Buffer.isBuffer(request.body) ? request.body : ''
    const { payment } = this.settlement
    if (payment === undefined) await this.free.take(callerOf(request))
    const { free, paid } = this.admission
    const budget = payment === undefined ? free : paid
    await this.endpoint.serve(
      requestOf(request, reply, { dialect, length: body.length, budget, payer: payment?.payer }),
      body,
      (answer, view, { signal }) => {
        // Nobody is charged for an answer that nobody waits for.
        if (payment !== undefined && signal.reason instanceof ClientGone) throw signal.reason
        this.sender.send(reply, answer, view, payment !== undefined)
      },
      (context) => {
        if (payment === undefined) return
        const charge = new MeteredCharge(this.environment.PRICE_LIST, payment, this.issuer)
        const withWitness = wantsWitness(request.query)
        context.serve = (name, method, params) =>
          isSold(name)
            ? this.sell(name, params, context, charge, withWitness)
            : context.freely(free).then((freed) => method(params, freed))
      },
    )
  }

  private async sell(
    method: SimulationMethod,
    params: unknown,
    context: RequestContext,
    charge: MeteredCharge,
    withWitness: boolean,
  ): Promise<RpcResult> {
    if (charge.reachedMaximum) {
      throw new RpcError(
        ErrorCode.limitExceeded,
        'not carried out: the calls before it cost the signed maximum already',
      )
    }
    const paid = await this.simulator.simulate(method, params, context, { withWitness })
    const { json } = paid.answer
    const beside = await charge.add(method, paid, async () => {
      const { hash: resultHash, gas } = await this.issuer.digester.digest('result', json)
      return { dialect: context.dialect, params: plainJson(params), resultHash, gas }
    })
    return { result: json, beside }
  }
}

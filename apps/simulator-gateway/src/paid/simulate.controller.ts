import { Controller, Post, Req, Res } from '@nestjs/common'
import { Settlement } from '@upfront/nestjs-x402'
import { type Dialect, ErrorCode, plainJson, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { FreeBudget } from '../limits/free-budget.js'
import { ClientGone } from '../limits/refused.js'
import { AnswerSender } from '../requests/answer-sender.js'
import { dialectOf, ETHEREUM_PATH, requestOf } from '../requests/request.js'
import type { RequestContext } from '../requests/request-context.js'
import { type ExtraFields, isBilled, type RpcMethod, type RpcResult } from '../requests/rpc-method.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import type { SimulationMethod } from '../simulate/simulator.js'
import { isShown, isSimulation } from './free-reads.js'
import { MeteredCharge } from './metered-charge.js'
import { type PaidSimulation, PaidSimulator, wantsWitness } from './paid-simulator.js'
import { ReceiptIssuer } from './receipt-issuer.js'

/**
 * `POST /v1/simulate` and `POST /ethereum/v1/simulate`: `eth_simulateV1` and `upfront_simulate`, one call or a batch per payment. The same
 * routes with the suffix `/plain` have an offer without extensions.
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
  ) {}

  @Post('plain')
  plain(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.serve(request, reply)
  }

  /**
   * Answers like `POST /`, with `charge` and `receipt` next to the `result` of each simulation, and `witness` if `witness=1` is set. A
   * refused call has an `error` and costs nothing. Other methods are free, within the limits of `POST /`.
   */
  @Post()
  async serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const dialect = dialectOf(request, this.environment.DIALECT)
    const body = Buffer.isBuffer(request.body) ? request.body : ''
    const { payment } = this.settlement
    if (payment === undefined) await this.free.take(callerOf(request))
    const { free, paid } = this.endpoint
    const budget = payment === undefined ? free : paid
    await this.endpoint.serve(
      requestOf(request, reply, { dialect, length: body.length, budget, payer: payment?.payer }),
      body,
      (answer, view, { signal }) => {
        // The client has disconnected: no answer is sent, and the route's rule for partial work sets the charge.
        if (payment !== undefined && signal.reason instanceof ClientGone) throw signal.reason
        this.sender.send(reply, answer, view, payment !== undefined)
      },
      (context) => {
        if (payment === undefined) return
        const charge = new MeteredCharge(this.environment.PRICE_LIST, payment, this.issuer)
        const withWitness = wantsWitness(request.query)
        context.serve = (name, method, params) =>
          isSimulation(name)
            ? this.sell(name, params, context, charge, withWitness)
            : isShown(name)
              ? this.sellShown(method, params, context, charge, withWitness)
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
    demandUnspent(charge)
    const paid = await this.simulator.simulate(method, params, context, { withWitness })
    const extraFields = await this.billed(method, params, context.dialect, paid, charge, context)
    return { result: paid.answer.json, extraFields }
  }

  /** A method that presents an `upfront_simulate` in another format: that simulation is charged, and put next to the result. */
  private async sellShown(
    method: RpcMethod,
    params: unknown,
    context: RequestContext,
    charge: MeteredCharge,
    withWitness: boolean,
  ): Promise<RpcResult> {
    demandUnspent(charge)
    let shown: { params: unknown[]; paid: PaidSimulation } | undefined
    const telling = context.telling(async ({ params: asked, ...simulated }) => {
      shown = { params: asked, paid: await this.simulator.sold(simulated, context.view, { withWitness }) }
    })
    const made = await method(params, telling)
    if (shown === undefined) throw new Error('a paid method reported no simulation')
    const { params: asked, paid } = shown
    const extraFields = await this.billed('upfront_simulate', asked, 'ethereum', paid, charge, context)
    const simulation = `{"method":"upfront_simulate","params":${JSON.stringify(plainJson(asked))},"result":${paid.answer.json}}`
    const result = isBilled(made) ? made.result : made
    return { result, extraFields: { ...extraFields, ...(extraFields.receipt !== undefined && { simulation }) } }
  }

  private billed(
    method: SimulationMethod,
    params: unknown,
    dialect: Dialect,
    paid: PaidSimulation,
    charge: MeteredCharge,
    context: RequestContext,
  ): Promise<ExtraFields> {
    const exchange = async () => {
      const { hash: resultHash, gas } = await this.issuer.digester.digest('result', paid.answer.json)
      return { dialect, params: plainJson(params), resultHash, gas }
    }
    return charge.add(method, paid, exchange, context)
  }
}

/** @throws RpcError -32005 if earlier calls have reached the signed maximum */
function demandUnspent(charge: MeteredCharge): void {
  if (charge.reachedMaximum)
    throw new RpcError(ErrorCode.limitExceeded, 'not executed: the calls before it already cost the signed maximum')
}

import { Controller, Inject, Post, Req, Res } from '@nestjs/common'
import { Settlement } from '@upfront/nestjs-x402'
import { ErrorCode, plainJson, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { dialectOf, ETHEREUM_PATH } from '../http/dialect.js'
import { sendAnswer } from '../http/send-answer.js'
import type { Caller } from '../limits/caller.js'
import { ClientGone } from '../limits/client-gone.js'
import { type Cost, FreeBudget } from '../limits/free-budget.js'
import { isLarge, Memory } from '../limits/memory.js'
import { RequestView } from '../pending/request-view.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import { RpcService } from '../rpc/rpc.service.js'
import { RpcJournal } from '../rpc/rpc-journal.js'
import { RPC_METHODS, type RpcMethod } from '../rpc/rpc-method.js'
import { SOLD_METHODS, type SoldMethod } from './free-reads.js'
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
    private readonly journal: RpcJournal,
    private readonly memory: Memory,
    private readonly issuer: ReceiptIssuer,
    private readonly environment: Environment,
    private readonly settlement: Settlement,
    private readonly endpoint: RpcEndpoint,
    private readonly free: FreeBudget,
    @Inject(RPC_METHODS) private readonly methods: ReadonlyMap<string, RpcMethod>,
  ) {}

  /**
   * The answer of `POST /`, each simulation's `result` with its `charge` and `receipt` beside it, and with its `witness` where
   * `witness=1` asks for one. What is refused has an `error`, and costs nothing. Other methods are free, within the limits of
   * `POST /`.
   */
  @Post()
  async serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const dialect = dialectOf(request, this.environment.DIALECT)
    const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
    const { payment } = this.settlement
    if (payment === undefined) {
      await this.free.take(callerOf(request))
      return this.endpoint.serve(
        { id: request.id, caller: callerOf(request), dialect, body },
        reply.raw,
        (answer, view) => sendAnswer(reply, answer, view, this.memory, this.environment.ANSWER_TIMEOUT_MS),
      )
    }
    const charge = new MeteredCharge(this.environment.PRICE_LIST, payment, this.issuer)
    const view = new RequestView()
    const withWitness = wantsWitness(request.query)
    const methods = this.freeMethods(callerOf(request))
    for (const method of SOLD_METHODS) methods.set(method, this.selling(method, charge, withWitness))
    const rpc = new RpcService(methods, this.journal, this.environment)
    const answer = await this.simulator.inTurn(payment.payer, reply.raw, body.length, async (lifetime) => {
      const { signal, deadline } = lifetime
      const reserve = (bytes: number) => lifetime.reserve(bytes)
      const made = await rpc.answer(body, {
        signal,
        deadline,
        reserve,
        requestId: request.id,
        dialect,
        view,
        isLarge: isLarge(body.length),
      })
      if (signal.reason instanceof ClientGone) throw signal.reason
      return made
    })
    sendAnswer(reply, answer, view, this.memory, this.environment.ANSWER_TIMEOUT_MS)
  }

  /** The methods of `POST /`, each call of them counted as one there. */
  private freeMethods(caller: Caller): Map<string, RpcMethod> {
    const spend = (cost: Cost) => this.free.spend(caller, cost)
    const counted = (serve: RpcMethod): RpcMethod => {
      return async (params, context) => {
        await this.free.take(caller)
        return serve(params, { ...context, spend })
      }
    }
    return new Map(Array.from(this.methods, ([name, serve]) => [name, counted(serve)]))
  }

  private selling(method: SoldMethod, charge: MeteredCharge, withWitness: boolean): RpcMethod {
    return async (params, context) => {
      if (charge.reachedMaximum) {
        throw new RpcError(
          ErrorCode.limitExceeded,
          'not carried out: the calls before it cost the signed maximum already',
        )
      }
      const paid = await (method === 'upfront_simulate'
        ? this.simulator.inspect(params, context, { withWitness })
        : this.simulator.simulate(params, context, { withWitness }))
      const { json } = paid.answer
      const beside = await charge.add(method, paid, async () => {
        const { hash: resultHash, gas } = await this.issuer.digester.digest('result', json)
        return { dialect: context.dialect, params: plainJson(params), resultHash, gas }
      })
      return { result: json, beside }
    }
  }
}

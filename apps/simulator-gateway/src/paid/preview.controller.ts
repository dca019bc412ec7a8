import { Controller, Get, Query, Res } from '@nestjs/common'
import { type PaidRequest, Payment } from '@upfront/nestjs-x402'
import { type ErrorCode, type Hex, RpcError, type SimulatedBlock } from '@upfront/protocol'
import type { FastifyReply } from 'fastify'
import { Environment } from '../environment/environment.js'
import { Overloaded } from '../limits/overloaded.js'
import { type AnswerState, answerStateToHeader, STATE_HEADER } from '../pending/answer-state.js'
import { RequestView } from '../pending/request-view.js'
import { failureOf } from '../rpc/failure.js'
import { type AssetChange, assetChanges } from './asset-changes.js'
import { type ChargeStatement, MeteredCharge } from './metered-charge.js'
import { PaidSimulator } from './paid-simulator.js'
import { previewParams } from './preview-request.js'

/** What one call would do, for people. Numbers are decimal strings. */
export interface Preview {
  status: 'success' | 'reverted'
  gasUsed: string
  /** Why it failed, decoded; null where it did not. */
  revertReason: string | null
  returnData: Hex
  changes: AssetChange[]
  /** The simulated block, and what it stands on: its parent, or the block under construction as of a flashblock. */
  block: {
    number: string
    parentHash: Hex
    timestamp: string
    state: AnswerState['kind']
    flashblock: number | null
  }
  charge: ChargeStatement
}

/** `GET /v1/preview`. */
@Controller('v1/preview')
export class PreviewController {
  constructor(
    private readonly simulator: PaidSimulator,
    private readonly environment: Environment,
  ) {}

  @Get()
  async preview(
    @Query() query: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Payment() payment: PaidRequest,
  ): Promise<Preview> {
    try {
      const charge = new MeteredCharge(this.environment.PRICE_LIST, payment)
      const params = previewParams(query)
      const view = new RequestView()
      const answer = await this.simulator.inTurn(reply.raw, async ({ signal, deadline }) =>
        this.simulator.simulate(params, { dialect: 'upfront', signal, deadline, view }),
      )
      if (view.answerState) reply.header(STATE_HEADER, answerStateToHeader(view.answerState))
      return { ...describe(JSON.parse(answer.json.toString()), view.answerState), charge: charge.add(answer) }
    } catch (error) {
      const { error: failure, httpStatus } = failureOf(error)
      if (httpStatus === 500 || error instanceof Overloaded) throw error
      throw new RpcError(failure.code as ErrorCode, failure.message, failure.data, Math.max(httpStatus, 400))
    }
  }
}

function describe([block]: SimulatedBlock[], answerState: AnswerState | undefined): Omit<Preview, 'charge'> {
  const call = block?.calls[0]
  if (block === undefined || call === undefined) throw new Error('a simulation of one call has no call')
  const { number, parentHash, timestamp } = block
  return {
    status: call.status === '0x1' ? 'success' : 'reverted',
    gasUsed: BigInt(call.gasUsed).toString(),
    revertReason: call.error === undefined ? null : typeof call.error === 'string' ? call.error : call.error.message,
    returnData: call.returnData,
    changes: assetChanges(call.logs),
    block: {
      number: BigInt(number).toString(),
      parentHash,
      timestamp: BigInt(timestamp).toString(),
      state: answerState?.kind ?? 'latest',
      flashblock: answerState?.kind === 'preconfirmed' ? answerState.flashblock : null,
    },
  }
}

import { Controller, Get, Param, Req, Res } from '@nestjs/common'
import { BillingFacilitator, BillingUnavailable } from '@upfront/facilitator-adapter'
import { decodeNetwork, encodePayment, type Payment, quote } from '@upfront/protocol'
import type { SignedReceipt } from '@upfront/receipt'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { FreeBudget } from '../limits/free-budget.js'
import { refused } from '../limits/refused.js'
import { IssuedReceipts } from './receipt-issuer.js'
import { SignIn } from './sign-in.js'

/** The status of a payment, with its receipts. */
export interface PaymentStatus {
  /** Amounts in the asset's smallest unit, decimal; times in ISO 8601. */
  payment: Record<string, string | null>
  /** Those that this process signed and still keeps; none if the payment is not charged what they state. */
  receipts: readonly SignedReceipt[]
}

/** `GET /v1/payments/{nonce}`: a payment by the nonce of its Permit2 authorization (decimal). For the payer only. */
@Controller('v1/payments')
export class PaymentsController {
  constructor(
    private readonly billing: BillingFacilitator,
    private readonly receipts: IssuedReceipts,
    private readonly signIn: SignIn,
    private readonly free: FreeBudget,
    private readonly environment: Environment,
  ) {}

  @Get(':nonce')
  async payment(
    @Param('nonce') nonce: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PaymentStatus> {
    await this.free.take(callerOf(request))
    reply.header('cache-control', 'no-store')
    if (!/^(0|[1-9]\d{0,77})$/.test(nonce) || BigInt(nonce) >= 1n << 256n) {
      throw refused(400, `nonce: expected the decimal nonce of a Permit2 authorization, got ${quote(nonce)}`)
    }
    const payer = await this.signIn.account(request, reply)
    const payment = await this.find(payer, BigInt(nonce))
    if (payment === undefined) throw refused(404, 'this account has no payment with this nonce')
    return { payment: encodePayment(payment), receipts: charged(payment, this.receipts.of(payer, nonce)) }
  }

  private async find(payer: string, nonce: bigint) {
    try {
      return await this.billing.findPayment(decodeNetwork(this.environment.NETWORK, 'NETWORK'), payer, nonce)
    } catch (error) {
      if (error instanceof BillingUnavailable)
        throw refused(503, 'payments cannot be looked up at the moment; try again later')
      throw error
    }
  }
}

/**
 * The receipts, if their sum is the charge. Otherwise they are of an answer that was metered but not sold: its buyer left and paid the base
 * price, the route's time-out passed, or the payment failed.
 */
function charged({ state, charge }: Payment, receipts: readonly SignedReceipt[]): readonly SignedReceipt[] {
  const stated = receipts.reduce((sum, { amount }) => sum + BigInt(amount), 0n)
  return state !== 'failed' && charge === stated ? receipts : []
}

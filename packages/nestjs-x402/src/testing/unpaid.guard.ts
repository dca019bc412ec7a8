import type { ServerResponse } from 'node:http'
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'
import { attachPayment, PaidRequest, rawResponse } from '../charge/paid-request.js'
import { FAKE_PAYER } from './fake-buyer.js'

/**
 * Replaces `PaymentGuard` in tests (`overrideGuard(PaymentGuard).useValue(new UnpaidGuard())`). Every handler runs without a payment;
 * `setSettlementAmount` and `@Payment()` work as if the maximum had been signed.
 */
@Injectable()
export class UnpaidGuard implements CanActivate {
  /** Payments of the handlers that ran, in order. */
  readonly payments: PaidRequest[] = []
  private readonly maximum: bigint

  /** @param maximum in the smallest unit of an asset with 6 decimals */
  constructor({ maximum = 1_000_000n }: { maximum?: bigint } = {}) {
    this.maximum = maximum
  }

  canActivate(context: ExecutionContext): boolean {
    if (context.getType() !== 'http') return true
    const zero = `0x${'00'.repeat(20)}`
    const requirements = {
      scheme: 'upto',
      network: 'eip155:31337' as const,
      amount: this.maximum.toString(),
      asset: zero,
      payTo: zero,
      maxTimeoutSeconds: 300,
      extra: {},
    }
    const route = `${context.getClass().name}.${context.getHandler().name}`
    const payment = new PaidRequest(route, FAKE_PAYER, requirements, 6)
    attachPayment(rawResponse(context.switchToHttp().getResponse<ServerResponse>()), payment)
    this.payments.push(payment)
    return true
  }
}

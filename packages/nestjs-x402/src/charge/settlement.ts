import { AsyncLocalStorage } from 'node:async_hooks'
import { createParamDecorator, Injectable } from '@nestjs/common'
import { type PaidRequest, paymentOf } from './paid-request.js'

const current = new AsyncLocalStorage<PaidRequest>()

/** Runs `work`, and everything it starts, in the context of a paid request. */
export function runWithPayment<T>(payment: PaidRequest, work: () => T): T {
  return current.run(payment, work)
}

/** The payment of the current request. Inject it anywhere; each request sees its own. */
@Injectable()
export class Settlement {
  /** Undefined outside a paid request. */
  get payment(): PaidRequest | undefined {
    return current.getStore()
  }

  /**
   * Sets the price in dollars (`$0.03`) or the asset's smallest unit (`30000`): see {@link PaidRequest.setSettlementAmount}.
   * @throws Error outside a paid request
   */
  setSettlementAmount(amount: string | bigint): void {
    const payment = current.getStore()
    if (payment === undefined) throw new Error('setSettlementAmount was called outside a paid request')
    payment.setSettlementAmount(amount)
  }
}

/** Handler parameter: the request's {@link PaidRequest}. */
export const Payment = createParamDecorator((_data: unknown, context): PaidRequest => {
  const payment = paymentOf(context.switchToHttp().getResponse())
  if (payment === undefined) throw new Error('@Payment() is used on a handler that is not a paid route')
  return payment
})

import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common'
import { finalize, type Observable, tap } from 'rxjs'
import { paymentOf } from './charge/paid-request.js'
import { runWithPayment } from './charge/settlement.js'

/** Gives a paid handler its payment, and records when the handler has ended. */
@Injectable()
export class PaymentInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle()
    const payment = paymentOf(context.switchToHttp().getResponse())
    if (payment === undefined) return next.handle()
    let gaveUp = false
    return runWithPayment(payment, () => next.handle()).pipe(
      tap({
        error: (error: unknown) => {
          gaveUp = isAbort(error, payment.signal)
        },
      }),
      finalize(() => payment.finish(gaveUp)),
    )
  }
}

/** Node's own functions reject with an AbortError whose cause is the signal's reason; others reject with the reason itself. */
function isAbort(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted || typeof error !== 'object' || error === null) return false
  const { name, cause } = error as { name?: unknown; cause?: unknown }
  return error === signal.reason || cause === signal.reason || name === 'AbortError'
}

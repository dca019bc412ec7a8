import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common'
import { finalize, type Observable } from 'rxjs'
import { handlerDone, paymentOf } from './paid-requests.js'
import { runPaid } from './settlement.js'

/** Gives a paid handler its payment, and says when it is done. */
@Injectable()
export class PaymentInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle()
    const response = context.switchToHttp().getResponse()
    const payment = paymentOf(response)
    if (payment === undefined) return next.handle()
    return runPaid(payment, () => next.handle()).pipe(finalize(() => handlerDone(response)))
  }
}

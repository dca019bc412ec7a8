import { Inject, Injectable } from '@nestjs/common'
import { RpcError } from '@upfront/protocol'
import type { Logger } from 'pino'
import { ClientGone } from '../http/request-lifetime.js'
import { LOGGER } from '../logger.js'
import { Metrics } from '../metrics/metrics.js'
import type { RpcContext } from './rpc-method.js'

/**
 * Says of each call what became of it: to the metrics always; to the log at `error` where the gateway is at fault, at
 * `warn` where the upstream is (HTTP 5xx), else at `debug`.
 */
@Injectable()
export class RpcJournal {
  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  /** `failure` is what the client is told, `cause` what was thrown; both absent on success. */
  note(method: string, context: RpcContext, startedAt: number, failure?: RpcError, cause?: unknown): void {
    const milliseconds = performance.now() - startedAt
    const gone = cause instanceof ClientGone
    const outcome = failure === undefined ? 'ok' : gone ? 'client_gone' : String(failure.code)
    this.metrics.call(method, outcome, milliseconds / 1000)
    if (failure === undefined || gone || failure.httpStatus < 500) {
      if (!this.logger.isLevelEnabled('debug')) return
      this.logger.debug(
        { requestId: context.requestId, method, outcome, milliseconds, reason: failure?.message },
        'call',
      )
    } else if (cause instanceof RpcError) {
      this.logger.warn(
        { requestId: context.requestId, method, outcome, milliseconds, reason: failure.message },
        'call failed',
      )
    } else {
      this.logger.error({ requestId: context.requestId, method, milliseconds, err: cause }, 'internal error')
    }
  }
}

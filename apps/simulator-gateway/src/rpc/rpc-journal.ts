import { Inject, Injectable } from '@nestjs/common'
import { LOGGER, type Logger, Metrics, type Tally, type Timings } from '@upfront/service'
import { ClientGone } from '../limits/refused.js'
import type { RpcContext } from '../requests/rpc-method.js'
import type { Failure } from './failure.js'

/**
 * Records how each call ended: in the metrics always; in the log at `error` where the gateway is at fault, at
 * `warn` where the upstream is, else at `debug`.
 */
@Injectable()
export class RpcJournal {
  private readonly debugging: boolean
  private readonly calls: Tally
  private readonly times: Timings

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.calls = metrics.tally('upfront_rpc_calls_total', 'JSON-RPC calls by method and outcome', ['method', 'outcome'])
    this.times = metrics.timings('upfront_rpc_call_seconds', 'Time to serve a JSON-RPC call', ['method'])
    this.debugging = logger.isLevelEnabled('debug')
  }

  served(method: string, { requestId }: RpcContext, startedAt: number): void {
    const milliseconds = performance.now() - startedAt
    this.count(method, 'ok', milliseconds)
    if (this.debugging) this.logger.debug({ requestId, method, outcome: 'ok', milliseconds }, 'call')
  }

  /** `thrown` is what `failure`, told to the client, was made of. */
  failed(method: string, { requestId }: RpcContext, startedAt: number, failure: Failure, thrown: unknown): void {
    const milliseconds = performance.now() - startedAt
    const outcome = thrown instanceof ClientGone ? 'client_gone' : outcomeOf(failure)
    this.count(method, outcome, milliseconds)
    const entry = { requestId, method, outcome, milliseconds, reason: failure.error.message }
    if (outcome === 'internal_error') this.logger.error({ ...entry, err: thrown }, 'internal error')
    else if (outcome === 'upstream_failed') this.logger.warn(entry, 'upstream failed')
    else if (this.debugging) this.logger.debug(entry, 'call')
  }

  /** `method` and `outcome` come from closed sets, never from what a client sent. */
  private count(method: string, outcome: string, milliseconds: number): void {
    this.calls.add(method, outcome)
    this.times.add(milliseconds, method)
  }
}

const OUTCOMES: ReadonlyMap<number, string> = new Map([
  [-32700, 'parse_error'],
  [-32600, 'invalid_request'],
  [-32601, 'method_not_found'],
  [-32602, 'invalid_params'],
  [-32005, 'limit_exceeded'],
  [-38026, 'limit_exceeded'],
])

function outcomeOf({ error, httpStatus }: Failure): string {
  if (httpStatus === 502 || httpStatus === 504) return 'upstream_failed'
  if (httpStatus === 500) return 'internal_error'
  return OUTCOMES.get(error.code) ?? 'rejected'
}

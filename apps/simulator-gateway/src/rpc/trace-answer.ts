import { UnknownBlock } from '@upfront/chain'
import { type Awaitable, type Cancellation, Canceller, onAbort } from '@upfront/node'
import { ErrorCode, type JsonText, RpcError, type Tracer, type Tracing } from '@upfront/protocol'
import { type Answer, presentTrace, structLogJson, type TracedAt, type Wording } from '@upfront/simulation'
import { ExecutionTimeout } from '../simulate/run-limits.js'
import { bounded, narrowed, type RequestLimits } from '../simulate/simulation-context.js'

/** Limit of traces that are built on the event loop, in bytes. */
const MAX_TRACE_BYTES = 4 * 1024 * 1024
/** Limit of struct logs, which the engine writes. */
const MAX_STEP_BYTES = 16 * 1024 * 1024

/** Longest delay of a timer, milliseconds: longer than any request. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** geth's wording. */
export const TRACING: Wording = (words) => `tracing failed: ${words}`

/** The error as geth's `debug_` methods word it, if it is that of an unknown block. */
export function inTracersWords(error: unknown): unknown {
  if (!(error instanceof UnknownBlock) || error.parameter.kind === 'tag') return error
  const { parameter } = error
  const named = parameter.kind === 'number' ? `#${parameter.number}` : parameter.hash
  return new RpcError(ErrorCode.serverError, `block ${named} not found`)
}

/** The limits of tracing one call. */
export function traceLimits(tracer: Tracer, limits: RequestLimits): RequestLimits {
  const count = tracer.name === 'muxTracer' ? Math.max(1, tracer.tracers.length) : 1
  return narrowed(limits, tracer.name === 'structLogger' ? MAX_STEP_BYTES : Math.floor(MAX_TRACE_BYTES / count))
}

/**
 * Runs one execution, for at most the time that the trace is given. geth's `noopTracer` answers nevertheless, so it is not ended.
 * @throws or rejects with ExecutionTimeout, or with what `run` throws
 */
export async function withinTimeout<T>(
  { tracer, timeoutMs }: Tracing,
  { signal }: Cancellation,
  run: (cancellation: Cancellation) => Awaitable<T>,
): Promise<T> {
  if (timeoutMs === undefined || tracer.name === 'noopTracer') return run({ signal })
  const canceller = new Canceller()
  const takeOff = onAbort(signal, () => canceller.cancel(signal.reason))
  const timer = setTimeout(() => canceller.cancel(new ExecutionTimeout()), Math.min(timeoutMs, MAX_DELAY_MS))
  try {
    return await run(canceller)
  } finally {
    clearTimeout(timer)
    takeOff()
  }
}

/**
 * The tracer's result for the answer's one call, as JSON in parts.
 * @param earlierLogs logs of earlier transactions in the block
 * @param at the transaction that the call is
 * @throws AnswerTooLong
 */
export function traceJson(
  { records }: Answer,
  tracer: Tracer,
  limits: RequestLimits,
  earlierLogs = 0,
  at?: TracedAt,
): JsonText[] {
  const [record] = records
  if (record === undefined) throw new Error('the call was not recorded')
  if (tracer.name === 'structLogger') return structLogJson(record)
  return [bounded(JSON.stringify(presentTrace(record, tracer, earlierLogs, at)), limits)]
}

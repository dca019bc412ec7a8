import type { JsonText, Tracer } from '@upfront/protocol'
import { type Answer, presentTrace, structLogJson, type Wording } from '@upfront/simulation'
import { bounded, narrowed, type RequestLimits } from '../simulate/simulation-context.js'

/** Of a trace that is put together on the event loop, where others wait. */
const MOST_TRACE_BYTES = 4 * 1024 * 1024
/** Of struct logs, which engines write. */
const MOST_STEP_BYTES = 16 * 1024 * 1024

/** As geth words it. */
export const TRACING: Wording = (words) => `tracing failed: ${words}`

/** What a trace of one call may take. */
export function traceLimits({ name }: Tracer, limits: RequestLimits): RequestLimits {
  return narrowed(limits, name === 'structLogger' ? MOST_STEP_BYTES : MOST_TRACE_BYTES)
}

/**
 * What a tracer says of the one call of an answer, as JSON in parts.
 * @param earlierLogs of transactions before it in its block
 * @throws AnswerTooLong
 */
export function traceJson({ records }: Answer, tracer: Tracer, limits: RequestLimits, earlierLogs = 0): JsonText[] {
  const [record] = records
  if (record === undefined) throw new Error('the call was not recorded')
  if (tracer.name === 'structLogger') return structLogJson(record)
  return [bounded(JSON.stringify(presentTrace(record, tracer, earlierLogs)), limits)]
}

import type { JsonText, Tracer } from '@upfront/protocol'
import { type Answer, presentTrace, structLogJson, type Wording } from '@upfront/simulation'
import { bounded, narrowed, type RequestLimits } from '../simulate/simulation-context.js'

/** Limit of traces that are built on the event loop, in bytes. */
const MAX_TRACE_BYTES = 4 * 1024 * 1024
/** Limit of struct logs, which the engine writes. */
const MAX_STEP_BYTES = 16 * 1024 * 1024

/** geth's wording. */
export const TRACING: Wording = (words) => `tracing failed: ${words}`

/** The limits of tracing one call. */
export function traceLimits({ name }: Tracer, limits: RequestLimits): RequestLimits {
  return narrowed(limits, name === 'structLogger' ? MAX_STEP_BYTES : MAX_TRACE_BYTES)
}

/**
 * The tracer's result for the answer's one call, as JSON in parts.
 * @param earlierLogs logs of earlier transactions in the block
 * @throws AnswerTooLong
 */
export function traceJson({ records }: Answer, tracer: Tracer, limits: RequestLimits, earlierLogs = 0): JsonText[] {
  const [record] = records
  if (record === undefined) throw new Error('the call was not recorded')
  if (tracer.name === 'structLogger') return structLogJson(record)
  return [bounded(JSON.stringify(presentTrace(record, tracer, earlierLogs)), limits)]
}

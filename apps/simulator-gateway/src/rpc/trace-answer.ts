import { Turn } from '@upfront/node'
import type { Tracer } from '@upfront/protocol'
import { type Answer, presentTrace, structLogJson, type Wording } from '@upfront/simulation'
import { bounded, narrowed, type RequestLimits } from '../simulate/simulation-context.js'

/** Of a trace that is put together on the event loop, where others wait. */
const MOST_TRACE_BYTES = 4 * 1024 * 1024
/** Of struct logs, which engines write as JSON. */
const MOST_STEP_BYTES = 16 * 1024 * 1024
/** Putting more steps than this together takes milliseconds of the event loop. */
const MANY_STEPS = 1_024

/** As geth words it. */
export const TRACING: Wording = (words) => `tracing failed: ${words}`

/** What a trace of one call may take. */
export function traceLimits({ name }: Tracer, limits: RequestLimits): RequestLimits {
  return narrowed(limits, name === 'structLogger' ? MOST_STEP_BYTES : MOST_TRACE_BYTES)
}

/**
 * What a tracer says of the one call of an answer.
 * What is long is put together in a turn of the event loop of its own: answers of several simulations may come in one.
 * @param earlierLogs of transactions before it in its block
 * @throws or rejects with AnswerTooLong
 */
export async function traceJson(
  { records }: Answer,
  tracer: Tracer,
  limits: RequestLimits,
  earlierLogs = 0,
): Promise<string> {
  const [record] = records
  if (record === undefined) throw new Error('the call was not recorded')
  if (record.steps.length > MANY_STEPS) await new Turn().end()
  if (tracer.name === 'structLogger') return structLogJson(record, tracer.config)
  return bounded(JSON.stringify(presentTrace(record, tracer, earlierLogs)), limits)
}

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Context, context, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { TRACED_WORK, type TracedWork } from '@upfront/node'
import { errorText } from '../logger.js'

/** Traces that later work may continue; the oldest are dropped. */
const MAX_BEGUN = 10_000

/** Makes a span for each {@link TracedWork}. @returns a function that stops it */
export function traceWork(tracer: Tracer): () => void {
  const begun = new Map<string, Context>()
  const wrap = (message: unknown) => {
    const work = message as TracedWork
    const { name, attributes = {}, begins, follows, run } = work
    work.run = () => {
      const parent = (follows === undefined ? undefined : begun.get(follows)) ?? context.active()
      const span = tracer.startSpan(name, { attributes }, parent)
      const inside = trace.setSpan(parent, span)
      if (begins !== undefined) {
        begun.set(begins, inside)
        const [oldest] = begun.keys()
        if (begun.size > MAX_BEGUN && oldest !== undefined) begun.delete(oldest)
      }
      return ended(span, () => context.with(inside, run))
    }
  }
  subscribe(TRACED_WORK, wrap)
  return () => void unsubscribe(TRACED_WORK, wrap)
}

/** Runs `run` and returns its value. If that is a promise, the span ends when it settles. */
function ended(span: Span, run: () => unknown): unknown {
  const fail = (error: unknown) => {
    span.setStatus({ code: SpanStatusCode.ERROR, message: errorText(error) })
    span.end()
  }
  try {
    const value = run()
    if (value instanceof Promise) value.then(() => span.end(), fail)
    else span.end()
    return value
  } catch (error) {
    fail(error)
    throw error
  }
}

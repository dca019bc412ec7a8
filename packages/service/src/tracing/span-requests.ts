import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Paths that monitoring polls: not traced. */
const NOT_TRACED = /^\/(health|metrics)/

/**
 * A span for each request, and its context for all that is done for it. Of the caller's headers its trace is continued, and nothing else is
 * passed on.
 * @param trusts whether a caller decides if its trace is sampled
 */
export function spanRequests(
  server: FastifyInstance,
  tracer: Tracer,
  trusts: (request: FastifyRequest) => boolean,
): void {
  const contexts = new WeakMap<FastifyRequest, Context>()
  server.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    if (NOT_TRACED.test(route)) return done()
    const from = contextOf(request, trusts(request))
    const attributes = { 'http.request.method': request.method, 'http.route': route, 'request.id': request.id }
    const span = tracer.startSpan(`${request.method} ${route}`, { kind: SpanKind.SERVER, attributes }, from)
    // Answers that are held back or sent by hand pass no hook of Fastify.
    reply.raw.once('close', () => {
      const { statusCode } = reply.raw
      span.setAttribute('http.response.status_code', statusCode)
      if (statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    })
    const inside = trace.setSpan(from, span)
    contexts.set(request, inside)
    context.with(inside, done)
  })
  // Receiving a body leaves the context.
  server.addHook('preHandler', (request, _, done) => context.with(contexts.get(request) ?? ROOT_CONTEXT, done))
}

function contextOf({ headers: { traceparent, tracestate } }: FastifyRequest, isTrusted: boolean): Context {
  const from = propagation.extract(ROOT_CONTEXT, { traceparent, tracestate })
  const caller = trace.getSpanContext(from)
  // The sampler takes no decision from a remote parent.
  return caller === undefined || !isTrusted ? from : trace.setSpanContext(from, { ...caller, isRemote: false })
}

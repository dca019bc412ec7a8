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

/** Paths polled by monitoring are not traced. */
const NOT_TRACED = /^\/(health|metrics)/

/**
 * Makes a span for each request and runs the request in its context. Only the trace is taken over from the caller's headers.
 * @param trusts whether the caller's sampling decision is followed
 */
export function traceRequests(
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
    // Not Fastify's `onResponse`: answers that are held back or sent by hand never reach it.
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
  // The context is lost while a body is received.
  server.addHook('preHandler', (request, _, done) => context.with(contexts.get(request) ?? ROOT_CONTEXT, done))
}

function contextOf({ headers: { traceparent, tracestate } }: FastifyRequest, isTrusted: boolean): Context {
  const from = propagation.extract(ROOT_CONTEXT, { traceparent, tracestate })
  const caller = trace.getSpanContext(from)
  // As a local parent: the sampler ignores the decision of a remote one.
  return caller === undefined || !isTrusted ? from : trace.setSpanContext(from, { ...caller, isRemote: false })
}

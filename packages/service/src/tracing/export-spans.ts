import { trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { spanRequests } from './span-requests.js'
import { spanWork } from './span-work.js'
import type { Tracing } from './tracing.js'

/** {@link Tracing} by OpenTelemetry's own SDK. Once in a process: its context and propagation are global. */
export function exportSpans(service: string): Tracing {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  provider.register()
  const tracer = provider.getTracer('upfront')
  const outgoing = new UndiciInstrumentation({
    requireParentforSpans: true,
    // Paths and queries of nodes' URLs often hold keys.
    startSpanHook: ({ origin }) => ({ 'url.full': origin, 'url.path': '', 'url.query': '' }),
  })
  outgoing.setTracerProvider(provider)
  const stop = spanWork(tracer)
  return {
    logFields() {
      const current = trace.getActiveSpan()?.spanContext()
      return current === undefined ? {} : { trace_id: current.traceId, span_id: current.spanId }
    },
    serve: (server) => spanRequests(server, tracer),
    async close() {
      stop()
      outgoing.disable()
      await provider.shutdown()
    },
  }
}

import { trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Variables } from '../environment.js'
import { traceRequests } from './trace-requests.js'
import { traceWork } from './trace-work.js'

/** Active tracing of a service. */
export interface Tracing {
  /** `trace_id` and `span_id` of the active span, for a log line. */
  logFields(): object
  /**
   * Makes a span for each request, continuing the caller's `traceparent`. Call it before other hooks are added.
   * @param trusts whether the caller's sampling decision is followed; otherwise `OTEL_TRACES_SAMPLER` decides
   */
  serve(server: FastifyInstance, trusts: (request: FastifyRequest) => boolean): void
  /** Sends the remaining spans. */
  close(): Promise<void>
}

/** {@link Tracing} with OpenTelemetry's SDK. At most once per process: context and propagation are global. */
export function exportSpans(service: string): Tracing {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    sampler: sampler(process.env),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  provider.register()
  const tracer = provider.getTracer('upfront')
  const outgoing = new UndiciInstrumentation({
    requireParentforSpans: true,
    // Paths and queries of nodes' URLs often hold API keys.
    startSpanHook: ({ origin }) => ({ 'url.full': origin, 'url.path': '', 'url.query': '' }),
  })
  outgoing.setTracerProvider(provider)
  const stop = traceWork(tracer)
  return {
    logFields() {
      const current = trace.getActiveSpan()?.spanContext()
      return current === undefined ? {} : { trace_id: current.traceId, span_id: current.spanId }
    },
    serve: (server, trusts) => traceRequests(server, tracer, trusts),
    async close() {
      stop()
      outgoing.disable()
      await provider.shutdown()
    },
  }
}

/** The sampler that `OTEL_TRACES_SAMPLER` names. A remote parent's decision is ignored: anyone can send one. */
function sampler({ OTEL_TRACES_SAMPLER: name = '', OTEL_TRACES_SAMPLER_ARG: ratio }: Variables): Sampler {
  const root = name.endsWith('always_off')
    ? new AlwaysOffSampler()
    : name.endsWith('traceidratio')
      ? new TraceIdRatioBasedSampler(Number(ratio || 1))
      : new AlwaysOnSampler()
  return new ParentBasedSampler({ root, remoteParentSampled: root, remoteParentNotSampled: root })
}

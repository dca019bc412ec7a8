import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Variables } from '../environment.js'

/** Tracing that is on. */
export interface Tracing {
  /** `trace_id` and `span_id` of what is being done, for a log line. */
  logFields(): object
  /**
   * Makes a span of each request; a caller's `traceparent` is continued. To be called before other hooks are added.
   * @param trusts whether a caller decides if its trace is sampled; else `OTEL_TRACES_SAMPLER` does
   */
  serve(server: FastifyInstance, trusts: (request: FastifyRequest) => boolean): void
  /** Sends what is left. */
  close(): Promise<void>
}

/**
 * Sends spans to `OTEL_EXPORTER_OTLP_ENDPOINT` (OTLP, JSON over HTTP), and `traceparent` with every HTTP request. Without it nothing
 * of OpenTelemetry is loaded. Its other `OTEL_` variables are read by OpenTelemetry itself.
 * @param service its name, unless `OTEL_SERVICE_NAME` gives another
 */
export async function startTracing(service: string, variables: Variables = process.env): Promise<Tracing | undefined> {
  if (!variables.OTEL_EXPORTER_OTLP_ENDPOINT) return undefined
  const { exportSpans } = await import('./export-spans.js')
  return exportSpans(variables.OTEL_SERVICE_NAME || service)
}

import type { Variables } from '../environment.js'
import type { Tracing } from './export-spans.js'

/**
 * Starts tracing if `OTEL_EXPORTER_OTLP_ENDPOINT` is set: spans go there (OTLP, JSON over HTTP), and HTTP requests made within a span carry
 * `traceparent`. Otherwise OpenTelemetry is not even loaded. OpenTelemetry reads its other `OTEL_` variables itself.
 * @param service its name, unless `OTEL_SERVICE_NAME` is set
 */
export async function startTracing(service: string, variables: Variables = process.env): Promise<Tracing | undefined> {
  if (!variables.OTEL_EXPORTER_OTLP_ENDPOINT) return undefined
  const { exportSpans } = await import('./export-spans.js')
  return exportSpans(variables.OTEL_SERVICE_NAME || service)
}

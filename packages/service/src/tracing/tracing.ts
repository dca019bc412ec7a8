import type { Variables } from '../environment.js'
import type { Tracing } from './export-spans.js'

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

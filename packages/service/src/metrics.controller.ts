import { Controller, Get, Header } from '@nestjs/common'
import { Metrics } from './metrics.js'

/** `/metrics` in Prometheus' text format. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  show(): Promise<string> {
    return this.metrics.text()
  }
}

import { Controller, Get, Header } from '@nestjs/common'
import { Registry } from 'prom-client'

/** `/metrics`, in Prometheus' text format. A service provides prom-client's `Registry`. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly registry: Registry) {}

  @Get()
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  show(): Promise<string> {
    return this.registry.metrics()
  }
}

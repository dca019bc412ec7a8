import { Metrics } from '@upfront/service'
import { AggregatorRegistry } from 'prom-client'

/** Worker to primary: its start-up message once it listens, or a request for the metrics of all workers. */
export type ToPrimary = { kind: 'greeting'; greeting: string } | { kind: 'metrics'; id: number }
/** Primary to worker: the answer. */
export interface ToWorker {
  kind: 'metrics'
  id: number
  text: string
}

/** The metrics of all workers of this machine, aggregated by the primary. */
export class WorkersMetrics extends Metrics {
  readonly #waiting = new Map<number, (text: string) => void>()
  #lastId = 0

  constructor() {
    super()
    new AggregatorRegistry()
    AggregatorRegistry.setRegistries([this.registry])
    process.on('message', (message: ToWorker) => {
      if (message.kind !== 'metrics') return
      this.#waiting.get(message.id)?.(message.text)
      this.#waiting.delete(message.id)
    })
  }

  override text(): Promise<string> {
    const id = ++this.#lastId
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      process.send?.({ kind: 'metrics', id } satisfies ToPrimary)
    })
  }
}

import { createHash } from 'node:crypto'
import { ErrorCode } from '@upfront/protocol'
import type { Subscriber } from './subscriber.js'

interface SimulationReply {
  /** Blocks; outcomes at several positions have no `calls`. */
  result?: { calls?: Record<string, unknown>[] }[]
  error?: { code: number; message: string }
}

/** Longer answers would block the event loop on every new block. */
const MAX_LENGTH = 1024 * 1024
/** Pause after a refusal for lack of budget or time, doubled after each further one: refusals take work and are never charged. */
const REST_MS = 1_000
const MAX_REST_MS = 32_000

/** Repeats a simulation and sends its answer whenever the outcome changes. */
export class WatchedSimulation {
  /** A digest, because outcomes are long. */
  #outcome: string | undefined
  #isRunning = false
  #isStale = false
  #isOver = false
  #restMs = REST_MS
  #resting: NodeJS.Timeout | undefined
  readonly #subscriber: Subscriber
  readonly #params: string
  readonly #send: (answer: string) => void

  /** @param params of `upfront_simulate`, as JSON */
  constructor(subscriber: Subscriber, params: string, send: (answer: string) => void) {
    this.#subscriber = subscriber
    this.#params = params
    this.#send = send
  }

  /** Call this when the state changes. Calls during a simulation, or during the pause after a refusal, result in a single further run. */
  async run(): Promise<void> {
    this.#isStale = true
    if (this.#isRunning || this.#resting !== undefined) return
    this.#isRunning = true
    while (this.#isStale && !this.#isOver && this.#resting === undefined) {
      this.#isStale = false
      const text = await this.#subscriber.call('upfront_simulate', this.#params)
      if (text === undefined || this.#isOver) continue
      if (text.length <= MAX_LENGTH) this.#tell(JSON.parse(text))
      else this.#refuse(`the answer of a watched simulation may have at most ${MAX_LENGTH} bytes`)
    }
    this.#isRunning = false
  }

  end(): void {
    this.#isOver = true
    clearTimeout(this.#resting)
  }

  #rest(): void {
    this.#resting = setTimeout(() => {
      this.#resting = undefined
      void this.run()
    }, this.#restMs).unref()
    this.#restMs = Math.min(2 * this.#restMs, MAX_REST_MS)
  }

  #refuse(message: string): void {
    this.end()
    this.#send(JSON.stringify({ error: { code: ErrorCode.limitExceeded, message } }))
  }

  #tell({ result, error }: SimulationReply): void {
    // Refused for lack of budget or time: says nothing about the outcome.
    if (error?.code === ErrorCode.limitExceeded) {
      this.#rest()
      return
    }
    this.#restMs = REST_MS
    const told = JSON.stringify(error ?? result?.map(({ calls, ...rest }) => calls?.map(lasting) ?? rest))
    const outcome = createHash('sha256').update(told).digest('base64')
    if (outcome === this.#outcome) return
    this.#outcome = outcome
    this.#send(JSON.stringify(error ? { error } : { result }))
  }
}

/** A call's outcome without fields that change with every block and without the values that it depends on. */
function lasting({ logs, depends: _, ...call }: Record<string, unknown>): object {
  if (!Array.isArray(logs)) return call
  return { ...call, logs: logs.map(({ address, topics, data }) => ({ address, topics, data })) }
}

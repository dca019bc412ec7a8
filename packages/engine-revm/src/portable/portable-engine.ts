import type { EngineCore, Message } from '../addon.js'
import { count, list } from '../border/text.js'
import { OUT_OF_MEMORY } from '../engine-work.js'
import { EngineEnded, PortableInstance, type Said } from './instance.js'
import { Job, layerQuestion, sharedBytes } from './job.js'
import type { FromWorker } from './worker.js'
import { Workers } from './workers.js'

/** Length of a plan that is tried on the event loop first, in characters. */
const SMALL_PLAN = 8_192
/** Least memory for work that needs more than a worker has, which runs one at a time. 50M gas can pay for 340 MB. */
const LARGE_BYTES = 512 * 1024 * 1024
/** Niceness of workers, so that the event loop goes first if cores are scarce. Twice as much for long work. */
const NICENESS = 5
/** An event loop instance that exceeds twice its cache's limit by this is replaced. */
const SPARE_BYTES = 192 * 1024 * 1024

export interface PortableLimits {
  cacheBytes: number
  memoryBytes: number
  threads: number
  queue: number
}

/**
 * The engine as WebAssembly, with the addon's methods. An instance on the event loop holds the state and runs small work; it never waits
 * for values. Workers run the rest, each with an instance of its own. If a worker's work lacks values, they come from here or are requested
 * as reads, and the work is started again with them.
 */
export class PortableEngine implements EngineCore {
  readonly #module: WebAssembly.Module
  readonly #limits: PortableLimits
  readonly #wake: () => void
  /** For new work, and work that follows the chain. */
  readonly #workers: Workers
  /** For simulations that take long or need much memory, so that others never wait for them. Created on first use. */
  #longWorkers: Workers | undefined
  #largeWorker: Workers | undefined
  readonly #held = { layers: new Map<number, string>(), cleared: 0 }
  readonly #jobs = new Map<number, Job>()
  /** The arguments of simulations on the event loop that wait for values. */
  readonly #paused = new Map<number, Parameters<PortableEngine['begin']>>()
  /** Pieces of plans that are not complete yet. */
  readonly #arriving = new Map<number, Uint8Array[]>()
  readonly #mail: Message[] = []
  #instance: PortableInstance

  constructor(module: WebAssembly.Module, limits: PortableLimits, wake: () => void) {
    this.#module = module
    this.#limits = limits
    this.#wake = wake
    this.#instance = this.#newInstance()
    this.#workers = this.#newWorkers(Math.ceil(limits.threads / 2), NICENESS)
  }

  take(): Message | null {
    return this.#mail.shift() ?? null
  }

  append(id: number, piece: string): void {
    const pieces = this.#arriving.get(id)
    if (pieces === undefined) this.#arriving.set(id, [sharedBytes(piece)])
    else pieces.push(sharedBytes(piece))
  }

  begin(...asked: [id: number, key: string, layers: number[], plan: string]): string | Message | null {
    const [id, key, layers, plan] = asked
    if (this.#arriving.has(id)) {
      this.append(id, plan)
      this.start(id, 'simulate', key, layers, '')
      return null
    }
    if (plan.length > SMALL_PLAN) {
      this.start(id, 'simulate', key, layers, plan)
      return null
    }
    return this.#atOnce(asked, this.#ask(`begin\n${count(id)}${key}\n${list(layers, count)}${plan}`))
  }

  resume(id: number, values: string): string | Message | null {
    const paused = this.#paused.get(id)
    if (paused !== undefined) {
      this.#paused.delete(id)
      return this.#atOnce(paused, this.#ask(`resume\n${count(id)}${values}`))
    }
    const job = this.#jobs.get(id)
    if (job === undefined) return null
    this.provide(job.key, job.missing(), values)
    job.give(values)
    this.#restart(job)
    return null
  }

  missing(key: string, reads: string): string {
    return this.#ask(`missing\n${key}\n${reads}`).text
  }

  known(key: string, reads: string): string {
    return this.#ask(`known\n${key}\n${reads}`).text
  }

  provide(key: string, reads: string, values: string): void {
    this.#ask(`provide\n${key}\n${reads}${values}`)
  }

  start(id: number, kind: string, key: string, numbers: number[], text: string): void {
    const rest = this.#arriving.get(id)
    this.#arriving.delete(id)
    const layers = new Map(numbers.map((number) => [number, this.#held.layers.get(number)!]))
    const job = new Job({ id, kind, key, layers, text, ...(rest && { rest }) }, this.#held, (answer) =>
      this.#onAnswer(job, answer),
    )
    this.#workers.start(job)
    this.#jobs.set(id, job)
  }

  cancel(id: number): void {
    this.#arriving.delete(id)
    if (this.#paused.delete(id)) this.#ask(`cancel\n${count(id)}`)
    const job = this.#jobs.get(id)
    if (job === undefined) return
    this.#jobs.delete(id)
    this.#workersOf(job).cancel(job)
  }

  addLayer(number: number, layer: string): void {
    this.#held.layers.set(number, layer)
    this.#ask(layerQuestion(number, layer))
  }

  dropLayer(number: number): void {
    this.#held.layers.delete(number)
    this.#ask(`drop\n${count(number)}`)
  }

  echo(name: string, record: string): string {
    return this.#ask(`echo\n${name}\n${record}`).text
  }

  holds(key: string): boolean {
    return this.#ask(`holds\n${key}\n`).text === '1'
  }

  clearCache(): void {
    this.#held.cleared += 1
    this.#ask('clear\n')
  }

  async close(): Promise<void> {
    this.#arriving.clear()
    this.#jobs.clear()
    this.#paused.clear()
    await Promise.all([this.#workers, this.#longWorkers, this.#largeWorker].map((workers) => workers?.close()))
  }

  get version(): string {
    return this.#ask('version\n').text
  }

  /** @throws EngineEnded if the instance has ended. The next question gets a new instance, without state. */
  #ask(question: string): Said {
    if (this.#instance.bytes > 2 * this.#limits.cacheBytes + SPARE_BYTES) this.#instance = this.#newInstance()
    try {
      return this.#instance.ask(question)
    } catch (error) {
      if (error instanceof EngineEnded) this.#instance = this.#newInstance()
      throw error
    }
  }

  #newInstance(): PortableInstance {
    const { cacheBytes } = this.#limits
    const instance = new PortableInstance(this.#module, 4 * cacheBytes + 2 * SPARE_BYTES)
    instance.ask(`configure\n${count(cacheBytes)}`)
    for (const [number, layer] of this.#held.layers) instance.ask(layerQuestion(number, layer))
    return instance
  }

  #atOnce(asked: Parameters<PortableEngine['begin']>, said: Said): string | Message | null {
    const [id, ...simulation] = asked
    switch (said.kind) {
      case 'done':
        return said.json === undefined ? said.text : message(id, said)
      case 'read':
        this.#paused.set(id, asked)
        return said.text
      case 'later':
        this.start(id, 'simulate', ...simulation)
        return null
      default:
        return message(id, said)
    }
  }

  /** Restarts work that already has a place in the queue. */
  #restart(job: Job): void {
    this.#workersOf(job).resume(job)
  }

  #workersOf({ isLarge, isLong }: Job): Workers {
    if (isLarge) {
      this.#largeWorker ??= this.#newWorkers(1, 2 * NICENESS, Math.max(LARGE_BYTES, this.#limits.memoryBytes))
      return this.#largeWorker
    }
    if (!isLong) return this.#workers
    this.#longWorkers ??= this.#newWorkers(Math.max(1, this.#limits.threads >> 1), 2 * NICENESS)
    return this.#longWorkers
  }

  #newWorkers(
    threads: number,
    niceness: number,
    memoryBytes = this.#limits.memoryBytes / this.#limits.threads,
  ): Workers {
    return new Workers({ module: this.#module, memoryBytes, niceness }, { threads, queue: this.#limits.queue })
  }

  #onAnswer(job: Job, answer: FromWorker): void {
    if (this.#jobs.get(job.id) !== job) return
    try {
      this.#go(job, answer)
    } catch (error) {
      this.#finish(job.id, { kind: 'failed', text: String(error), json: undefined })
    }
  }

  #go(job: Job, answer: FromWorker): void {
    const { said } = answer
    if (said === undefined && answer.isOutOfMemory && !job.isLarge) {
      job.isLarge = true
      this.#restart(job)
    } else if (said === undefined) {
      const text = answer.isOutOfMemory ? OUT_OF_MEMORY : answer.message
      this.#finish(job.id, { kind: 'failed', text, json: undefined })
    } else if (said.kind === 'later') {
      job.isLong = true
      this.#restart(job)
    } else if (said.kind === 'read') this.#lacks(job, said.text)
    else if (said.kind === 'changed') this.#finish(job.id, this.#ask(`carried\n${job.key}\n${said.text}`))
    else this.#finish(job.id, said)
  }

  /** Gives a worker the values cached here, and requests the others. */
  #lacks(job: Job, reads: string): void {
    const missing = job.lacks(reads, this.known(job.key, reads))
    if (missing === undefined) this.#restart(job)
    else this.#post(message(job.id, { kind: 'read', text: missing, json: undefined }))
  }

  #finish(id: number, said: Said): void {
    this.#jobs.delete(id)
    this.#post(message(id, said))
  }

  #post(mail: Message): void {
    this.#mail.push(mail)
    if (this.#mail.length === 1) this.#wake()
  }
}

/** A message like the addon's. An unknown kind counts as a failure. */
function message(id: number, { kind, text, json }: Said): Message {
  return {
    kind: kind as Message['kind'],
    id,
    payload: text,
    ...(json !== undefined && { json: Buffer.from(json.buffer, json.byteOffset, json.byteLength) }),
  }
}

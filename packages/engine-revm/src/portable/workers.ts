import { Worker } from 'node:worker_threads'
import type { FromWorker, Question, WorkerData } from './worker.js'

/** Workers run compiled code: it is in dist where this file is TypeScript, as in tests. */
const FILE = new URL(import.meta.url.endsWith('.ts') ? '../../dist/portable/worker.js' : './worker.js', import.meta.url)

/** A worker whose instance has taken more memory than this is ended after its work: memory of instances never shrinks. */
const KEPT_BYTES = 96 * 1024 * 1024

/** Work for one worker at a time. */
export interface Errand {
  /** What to ask, in order; what the last one is answered is what counts. @param worker what it has: to be noted there */
  questions(worker: WorkerState): Question[]
  /** It stops by itself before long: once it is given up, its worker is left to it. */
  readonly endsSoon: boolean
  answered(answer: FromWorker): void
}

/** What is known of a worker. */
export interface WorkerState {
  /** Numbers of the layers that it has. */
  readonly layers: Set<number>
  /** How often it has dropped every state. */
  forgot: number
}

interface OneWorker {
  thread: Worker
  state: WorkerState
  errand: Errand | undefined
}

/**
 * Worker threads with an instance each, one errand at a time. What is given up while it runs takes its worker with it, and no other,
 * unless it ends soon; the next errand has a new one made.
 */
export class Workers {
  readonly #workers = new Set<OneWorker>()
  /** The one that became idle last works first: its caches are warm. */
  readonly #idle: OneWorker[] = []
  /** What was under way before, and what can't be stopped soon: that follows the chain. */
  readonly #first = new Set<Errand>()
  readonly #waiting = new Set<Errand>()
  #isClosed = false

  constructor(
    readonly data: WorkerData,
    readonly limits: { threads: number; queue: number },
  ) {
    this.#idle.push(this.#add())
  }

  /** @throws Error with the code FULL where all workers are busy and the queue is full */
  start(errand: Errand): void {
    if (this.#idle.length === 0 && this.#workers.size >= this.limits.threads && this.#waiting.size >= this.limits.queue)
      throw Object.assign(new Error('too many simulations wait for a worker'), { code: 'FULL' })
    ;(errand.endsSoon ? this.#waiting : this.#first).add(errand)
    this.#goOn()
  }

  /** Work that was under way before has a place in the queue. */
  resume(errand: Errand): void {
    this.#first.add(errand)
    this.#goOn()
  }

  /** It is not answered any more. */
  giveUp(errand: Errand): void {
    if (this.#first.delete(errand) || this.#waiting.delete(errand) || errand.endsSoon) return
    for (const worker of this.#workers) if (worker.errand === errand) this.#end(worker)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#first.clear()
    this.#waiting.clear()
    await Promise.all([...this.#workers].map(({ thread }) => thread.terminate()))
  }

  #add(): OneWorker {
    const thread = new Worker(FILE, { execArgv: [], env: {}, workerData: this.data })
    const worker: OneWorker = { thread, state: { layers: new Set(), forgot: 0 }, errand: undefined }
    // Whoever waits for what it does keeps the process alive.
    thread.unref()
    thread.on('message', (answer: FromWorker) => this.#hear(worker, answer))
    thread.on('error', (error) =>
      this.#hear(worker, { message: error.message, isOutOfMemory: false, bytes: Number.POSITIVE_INFINITY }),
    )
    this.#workers.add(worker)
    return worker
  }

  #give(worker: OneWorker, errand: Errand): void {
    worker.errand = errand
    worker.thread.postMessage(errand.questions(worker.state))
  }

  #hear(worker: OneWorker, answer: FromWorker): void {
    const { errand } = worker
    if (!this.#workers.has(worker)) return
    if (answer.bytes > KEPT_BYTES) this.#end(worker)
    if (errand === undefined) return
    worker.errand = undefined
    // It takes the same errand again, where that goes on at once.
    if (this.#workers.has(worker)) this.#idle.push(worker)
    errand.answered(answer)
    this.#goOn()
  }

  #end(worker: OneWorker): void {
    this.#workers.delete(worker)
    const at = this.#idle.indexOf(worker)
    if (at >= 0) this.#idle.splice(at, 1)
    void worker.thread.terminate()
    if (!this.#isClosed) this.#goOn()
  }

  #goOn(): void {
    for (const waiting of [this.#first, this.#waiting])
      for (const errand of waiting) {
        const worker = this.#idle.pop() ?? (this.#workers.size < this.limits.threads ? this.#add() : undefined)
        if (worker === undefined) return
        waiting.delete(errand)
        this.#give(worker, errand)
      }
    if (this.#workers.size === 0) this.#idle.push(this.#add())
  }
}

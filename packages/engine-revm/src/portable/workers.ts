import { Worker } from 'node:worker_threads'
import type { FromWorker, Question, WorkerData } from './worker.js'

/** Workers need compiled code, which is in dist if this file is TypeScript, as in tests. */
const FILE = new URL(import.meta.url.endsWith('.ts') ? '../../dist/portable/worker.js' : './worker.js', import.meta.url)

/** A worker whose instance exceeds this memory is ended after its work, because memory of instances never shrinks. */
const KEPT_BYTES = 96 * 1024 * 1024

/** Work for one worker at a time. */
export interface Errand {
  /** The questions, in order; the last one's answer counts. @param worker the worker's state, to be updated */
  questions(worker: WorkerState): Question[]
  /** Whether it stops by itself soon. If given up, its worker may then finish it. */
  readonly endsSoon: boolean
  answered(answer: FromWorker): void
}

/** What a worker has. */
export interface WorkerState {
  /** Numbers of its layers. */
  readonly layers: Set<number>
  /** How often it has dropped every state. */
  cleared: number
}

interface OneWorker {
  thread: Worker
  state: WorkerState
  errand: Errand | undefined
}

/**
 * Worker threads with one instance each, running one errand at a time. An errand that is given up while running ends its worker, unless it
 * stops soon by itself; the next errand gets a new worker.
 */
export class Workers {
  readonly #workers = new Set<OneWorker>()
  /** The worker that became idle last works first: its caches are warm. */
  readonly #idle: OneWorker[] = []
  /** Errands that run next: resumed ones, and those that follow the chain, which can't be stopped soon. */
  readonly #first = new Set<Errand>()
  readonly #waiting = new Set<Errand>()
  #isClosed = false

  constructor(
    readonly data: WorkerData,
    readonly limits: { threads: number; queue: number },
  ) {
    this.#idle.push(this.#add())
  }

  /** @throws Error with the code FULL if all workers are busy and the queue is full */
  start(errand: Errand): void {
    if (this.#idle.length === 0 && this.#workers.size >= this.limits.threads && this.#waiting.size >= this.limits.queue)
      throw Object.assign(new Error('too many simulations wait for a worker'), { code: 'FULL' })
    ;(errand.endsSoon ? this.#waiting : this.#first).add(errand)
    this.#dispatch()
  }

  /** Continues an errand, which has a place in the queue. */
  resume(errand: Errand): void {
    this.#first.add(errand)
    this.#dispatch()
  }

  /** Cancels an errand. It is still answered if its worker runs it and it ends soon. */
  cancel(errand: Errand): void {
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
    const worker: OneWorker = { thread, state: { layers: new Set(), cleared: 0 }, errand: undefined }
    // The caller waiting for its result keeps the process alive.
    thread.unref()
    thread.on('message', (answer: FromWorker) => this.#onAnswer(worker, answer))
    thread.on('error', (error) =>
      this.#onAnswer(worker, { message: error.message, isOutOfMemory: false, bytes: Number.POSITIVE_INFINITY }),
    )
    this.#workers.add(worker)
    return worker
  }

  #assign(worker: OneWorker, errand: Errand): void {
    worker.errand = errand
    worker.thread.postMessage(errand.questions(worker.state))
  }

  #onAnswer(worker: OneWorker, answer: FromWorker): void {
    const { errand } = worker
    if (!this.#workers.has(worker)) return
    if (answer.bytes > KEPT_BYTES) this.#end(worker)
    if (errand === undefined) return
    worker.errand = undefined
    // The worker gets the same errand again if that continues at once.
    if (this.#workers.has(worker)) this.#idle.push(worker)
    errand.answered(answer)
    this.#dispatch()
  }

  #end(worker: OneWorker): void {
    this.#workers.delete(worker)
    const at = this.#idle.indexOf(worker)
    if (at >= 0) this.#idle.splice(at, 1)
    void worker.thread.terminate()
    if (!this.#isClosed) this.#dispatch()
  }

  #dispatch(): void {
    for (const waiting of [this.#first, this.#waiting])
      for (const errand of waiting) {
        const worker = this.#idle.pop() ?? (this.#workers.size < this.limits.threads ? this.#add() : undefined)
        if (worker === undefined) return
        waiting.delete(errand)
        this.#assign(worker, errand)
      }
    if (this.#workers.size === 0) this.#idle.push(this.#add())
  }
}

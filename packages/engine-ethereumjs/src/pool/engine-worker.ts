import { Worker } from 'node:worker_threads'
import type { Job } from './job.js'
import type { FromWorker, ToWorker, WorkerData } from './messages.js'

/** V8's heap of each worker. */
export const HEAP_MB = 512

/** Workers run compiled code: it is in dist where this file is TypeScript, as in tests. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/pool/worker.js' : './worker.js',
  import.meta.url,
)

/** One thread and the jobs that take turns in it. */
export class EngineWorker {
  readonly #thread: Worker
  /** A job that comes back has another number: what its first run still says is not taken for the second's. */
  readonly #jobs = new Map<number, Job>()
  readonly #numbers = new Map<Job, number>()
  #lastNumber = 0
  readonly #computing = new Int32Array(new SharedArrayBuffer(4))
  #lastError: Error | undefined
  #ending: Promise<unknown> | undefined
  #isReady = false
  #isSilent = false

  constructor(on: {
    /** Called after each message. */
    heard(worker: EngineWorker): void
    /** Called once, when the thread has ended: with the jobs that it had, and the error where it was not terminated. */
    gone(worker: EngineWorker, left: Job[], error: Error | undefined): void
  }) {
    this.#thread = new Worker(WORKER_FILE, {
      execArgv: [],
      env: {},
      workerData: { computing: this.#computing } satisfies WorkerData,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    this.#thread.unref()
    this.#thread.on('message', (message: FromWorker) => {
      this.#receive(message)
      on.heard(this)
    })
    this.#thread.on('error', (error) => {
      this.#lastError = error
    })
    this.#thread.on('exit', () => {
      const left = [...this.#jobs.values()]
      this.#jobs.clear()
      this.#numbers.clear()
      on.gone(this, left, this.#lastError)
    })
  }

  get load(): number {
    return this.#jobs.size
  }

  /** It has loaded. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** It was pinged and has sent nothing since. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  has(job: Job): boolean {
    return this.#numbers.has(job)
  }

  /** Asks for a sign of life. A worker that still loads gives none, and is not held up. */
  ping(): void {
    if (!this.#isReady) return
    this.#isSilent = true
    this.#post({ kind: 'ping' })
  }

  /** All jobs but the one that computes, or did last. */
  waitingJobs(): Job[] {
    const computing = Atomics.load(this.#computing, 0)
    return [...this.#jobs].flatMap(([number, job]) => (number === computing ? [] : [job]))
  }

  start(job: Job): void {
    this.#lastNumber += 1
    this.#jobs.set(this.#lastNumber, job)
    this.#numbers.set(job, this.#lastNumber)
    this.#thread.ref()
    this.#post({ job: this.#lastNumber, ...job.work })
  }

  cancel(job: Job): void {
    const number = this.#numbers.get(job)
    if (number !== undefined) this.#post({ job: number, kind: 'cancel' })
  }

  /** Whatever it still sends about the job is ignored. */
  forget(job: Job): void {
    const number = this.#numbers.get(job)
    if (number === undefined) return
    this.#jobs.delete(number)
    this.#numbers.delete(job)
    if (this.#jobs.size === 0) this.#thread.unref()
  }

  /** Resolves when the thread has ended; it may be asked again meanwhile. */
  terminate(): Promise<unknown> {
    // Node's own listens for the end once more each time.
    this.#ending ??= this.#thread.terminate()
    return this.#ending
  }

  #receive(message: FromWorker): void {
    this.#isSilent = false
    if (message.kind === 'ready') this.#isReady = true
    if (!('job' in message)) return
    const { job: number } = message
    const job = this.#jobs.get(number)
    if (!job) return
    if (message.kind === 'read') {
      job.ask(message.reads, (values) => this.#post({ job: number, kind: 'values', values }))
      return
    }
    this.forget(job)
    job.finish(message)
  }

  #post(message: ToWorker): void {
    this.#thread.postMessage(message)
  }
}

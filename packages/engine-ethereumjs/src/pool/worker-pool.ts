import type { SimulationOutcome } from '@upfront/simulation'
import { EngineWorker, type Job } from './engine-worker.js'

/** A simulation that has run this long no longer counts against `threads`: others need not wait for it. */
const LONG_RUN_MS = 50
/** Workers beyond `threads`, for simulations that run long. */
const EXTRA_WORKERS = 6
/** How long a simulation that was given up may take to notice before its thread is ended. */
const ABORT_GRACE_MS = 20

/**
 * Threads that run simulations. At most `threads` run short ones; what runs long keeps its thread while another takes its
 * place, up to a bound, so that small requests are answered beside big ones.
 */
export class WorkerPool {
  private readonly workers = new Set<EngineWorker>()
  private readonly longRunning = new Set<EngineWorker>()
  private queue: Job[] = []
  private closed = false

  constructor(private readonly threads: number) {
    this.add()
  }

  run(job: Omit<Job, 'resolve' | 'reject'>): Promise<SimulationOutcome> {
    const { signal } = job
    if (this.closed) return Promise.reject(new Error('the engine is closed'))
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const queued: Job = { ...job, resolve, reject }
      const onAbort = () => this.abandon(queued)
      const settled = () => signal.removeEventListener('abort', onAbort)
      queued.resolve = (outcome) => {
        settled()
        resolve(outcome)
      }
      queued.reject = (reason) => {
        settled()
        reject(reason)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.queue.push(queued)
      this.dispatch()
    })
  }

  async close(): Promise<void> {
    this.closed = true
    for (const job of this.queue) job.reject(new Error('the engine is closed'))
    this.queue = []
    await Promise.all([...this.workers].map((worker) => worker.terminate()))
  }

  private dispatch(): void {
    while (this.queue.length > 0) {
      const worker = this.free()
      if (!worker) return
      this.start(worker, this.queue.shift()!)
    }
  }

  private start(worker: EngineWorker, job: Job): void {
    worker.start(job)
    const timer = setTimeout(() => {
      if (!worker.runs(job)) return
      this.longRunning.add(worker)
      this.dispatch()
      this.keepSpare()
    }, LONG_RUN_MS)
    timer.unref()
  }

  private free(): EngineWorker | undefined {
    const idle = [...this.workers].find((worker) => !worker.busy)
    const short = [...this.workers].filter((worker) => worker.busy && !this.longRunning.has(worker)).length
    if (short >= this.threads) return undefined
    return idle ?? this.add()
  }

  /** A worker takes a while to load: one should stand ready when a long run holds the others. */
  private keepSpare(): void {
    if ([...this.workers].every((worker) => worker.busy)) this.add()
  }

  private add(): EngineWorker | undefined {
    if (this.closed || this.workers.size >= this.threads + EXTRA_WORKERS) return undefined
    const worker = new EngineWorker({
      idle: (free) => {
        this.longRunning.delete(free)
        this.dispatch()
        this.shrink(free)
      },
      gone: (lost) => {
        this.workers.delete(lost)
        this.longRunning.delete(lost)
        this.dispatch()
        this.keepSpare()
      },
    })
    this.workers.add(worker)
    return worker
  }

  private shrink(worker: EngineWorker): void {
    if (!worker.busy && this.workers.size > this.threads + 1) void worker.terminate()
  }

  private abandon(job: Job): void {
    this.queue = this.queue.filter((queued) => queued !== job)
    job.reject(job.signal.reason)
    const worker = [...this.workers].find((candidate) => candidate.runs(job))
    if (!worker) return
    worker.failRead()
    setTimeout(() => {
      if (worker.runs(job)) void worker.terminate()
    }, ABORT_GRACE_MS)
  }
}

import { ErrorCode, RpcError } from '@upfront/protocol'
import { EngineWorker, HEAP_MB } from './engine-worker.js'
import type { Job } from './job.js'
import type { Answer } from './messages.js'

/** A thread that says nothing for so long, and a turn for each of its simulations, is held up by one that can't be interrupted. */
const SILENCE_MS = 150
/** Twice a time slice and more: few simulations end theirs on time. */
const TURN_MS = 30
/** Workers beyond `threads`, for when some are held up. */
const EXTRA_WORKERS = 4
/** How long a simulation that was given up may take to notice before its thread is ended. */
const ABORT_GRACE_MS = 500
/** A simulation is tried again when its thread died: another one there may have been the cause. */
const MAX_DEATHS = 2

/**
 * Threads that run simulations, each taking turns between its own every few milliseconds, so that small requests are
 * answered beside big ones. Where a thread can't take turns (a precompile that computes for seconds) others take over.
 */
export class WorkerPool {
  private readonly workers = new Set<EngineWorker>()
  /** Workers that don't react, until they do. */
  private readonly heldUp = new Set<EngineWorker>()
  private readonly watched = new Set<EngineWorker>()
  private readonly jobs = new Set<Job>()
  private lastJob = 0
  private closed = false

  constructor(private readonly threads: number) {
    this.add()
  }

  /** @throws what `state.read` rejected with; the signal's reason; what its thread died of */
  run({ work, state, signal }: Pick<Job, 'work' | 'state' | 'signal'>): Promise<Answer> {
    if (this.closed) return Promise.reject(new Error('the engine is closed'))
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const settled = () => {
        this.jobs.delete(job)
        signal.removeEventListener('abort', onAbort)
      }
      const job: Job = {
        id: ++this.lastJob,
        work,
        state,
        signal,
        deaths: 0,
        resolve: (answer) => {
          settled()
          resolve(answer)
        },
        reject: (reason) => {
          settled()
          reject(reason)
        },
      }
      const onAbort = () => this.abandon(job)
      signal.addEventListener('abort', onAbort, { once: true })
      this.jobs.add(job)
      this.assign(job)
    })
  }

  async close(): Promise<void> {
    this.closed = true
    for (const job of this.jobs) job.reject(new Error('the engine is closed'))
    await Promise.all([...this.workers].map((worker) => worker.terminate()))
  }

  private assign(job: Job): void {
    const worker = this.choose()
    worker.start(job)
    if (worker.load > 1 && !this.watched.has(worker)) this.watch(worker)
  }

  /** The least busy of those that react; a new one where all are busy and more are allowed. */
  private choose(): EngineWorker {
    const all = [...this.workers]
    const reacting = all.filter((worker) => !this.heldUp.has(worker))
    const [best] = reacting.sort((a, b) => a.load - b.load)
    const busy = !best || best.load > 0
    if (busy && reacting.length < this.threads && all.length < this.threads + EXTRA_WORKERS) return this.add()
    return best ?? all.sort((a, b) => a.load - b.load)[0] ?? this.add()
  }

  /** As long as several share a thread: where one holds it up, the others begin anew elsewhere. */
  private watch(worker: EngineWorker): void {
    if (worker.load < 2 || !this.workers.has(worker)) {
      this.watched.delete(worker)
      return
    }
    this.watched.add(worker)
    const others = [...this.workers].some((other) => other !== worker && !this.heldUp.has(other))
    if (!worker.isSilent) worker.ping()
    else if (others || this.workers.size < this.threads + EXTRA_WORKERS) this.relieve(worker)
    const timer = setTimeout(() => this.watch(worker), SILENCE_MS + TURN_MS * worker.load)
    timer.unref()
  }

  private relieve(worker: EngineWorker): void {
    this.heldUp.add(worker)
    for (const job of worker.waitingJobs()) {
      worker.forget(job)
      worker.cancel(job)
      this.assign(job)
    }
  }

  /** Workers that took over are let go when all react again. */
  private settleDown(heard: EngineWorker): void {
    this.heldUp.delete(heard)
    if (this.heldUp.size > 0 || this.workers.size <= this.threads) return
    const idle = [...this.workers].find((worker) => worker.load === 0)
    if (!idle) return
    this.workers.delete(idle)
    void idle.terminate()
  }

  private add(): EngineWorker {
    const worker = new EngineWorker({
      heard: (heard) => this.settleDown(heard),
      gone: (gone, left, error) => this.replace(gone, left, error),
    })
    this.workers.add(worker)
    return worker
  }

  private replace(gone: EngineWorker, left: Job[], error: Error | undefined): void {
    this.workers.delete(gone)
    this.heldUp.delete(gone)
    if (this.closed) return
    for (const job of left) {
      if (!this.jobs.has(job)) continue
      job.deaths += error ? 1 : 0
      if (error && (left.length === 1 || job.deaths >= MAX_DEATHS)) job.reject(causeOfDeath(error))
      else this.assign(job)
    }
    if (this.workers.size === 0) this.add()
  }

  private abandon(job: Job): void {
    job.reject(job.signal.reason)
    const worker = [...this.workers].find((candidate) => candidate.has(job))
    if (!worker) return
    worker.cancel(job)
    const timer = setTimeout(() => {
      if (worker.has(job)) void worker.terminate()
    }, ABORT_GRACE_MS)
    timer.unref()
  }
}

function causeOfDeath(error: Error): Error {
  const outOfMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return outOfMemory
    ? new RpcError(ErrorCode.limitExceeded, `the simulation needs more memory than one request may use (${HEAP_MB} MB)`)
    : error
}

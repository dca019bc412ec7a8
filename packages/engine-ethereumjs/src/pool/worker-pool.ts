import { ErrorCode, RpcError } from '@upfront/protocol'
import type { Step } from '@upfront/simulation'
import { EngineWorker, HEAP_MB } from './engine-worker.js'
import { Job, type JobOptions } from './job.js'

/** A thread that sends nothing for so long, and a turn for each of its jobs, is held up by a job that can't be interrupted. */
const SILENCE_MS = 150
/** More than twice a time slice: few jobs end theirs on time. */
const TURN_MS = 30
/** Workers beyond `threads`, for when some are held up. */
const EXTRA_WORKERS = 4
/** How long a job that was given up may run on before its thread is ended. */
const ABORT_GRACE_MS = 500
/** A job is tried again when its thread died: another job there may have been the cause. */
const MAX_DEATHS = 2

export interface PoolLimits {
  threads: number
  /** Jobs under way at most. */
  jobs: number
}

/**
 * Threads that run jobs. The jobs of a thread take turns every few milliseconds, so that small ones are answered beside big
 * ones. Where a thread can't take turns (a precompile that computes for seconds) others take over.
 */
export class WorkerPool {
  readonly #limits: PoolLimits
  readonly #workers = new Set<EngineWorker>()
  /** Workers that don't react at present. */
  readonly #heldUp = new Set<EngineWorker>()
  readonly #watched = new Set<EngineWorker>()
  readonly #jobs = new Set<Job>()
  #isClosed = false

  constructor(limits: PoolLimits) {
    this.#limits = limits
    this.#add()
  }

  /**
   * Begins a job and gives its first step.
   * @throws RpcError -32005 (HTTP 503) where too many are under way. Steps reject with what the work or its thread failed
   * with, or the signal's reason.
   */
  begin<T>(options: JobOptions<T>): Promise<Step<T>> {
    if (this.#isClosed) throw new Error('the engine is closed')
    options.signal.throwIfAborted()
    if (this.#jobs.size >= this.#limits.jobs) {
      throw new RpcError(ErrorCode.limitExceeded, 'too many simulations at once', undefined, 503)
    }
    const job: Job = new Job<unknown>(options, {
      givenUp: () => this.#stop(job),
      end: () => this.#jobs.delete(job),
    })
    this.#jobs.add(job)
    this.#assign(job)
    return job.nextStep() as Promise<Step<T>>
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const job of this.#jobs) job.fail(new Error('the engine is closed'))
    await Promise.all([...this.#workers].map((worker) => worker.terminate()))
  }

  #assign(job: Job): void {
    const worker = this.#choose()
    worker.start(job)
    if (worker.load > 1 && !this.#watched.has(worker)) this.#watch(worker)
  }

  /** The least busy of those that react; a new one where all are busy and more are allowed. */
  #choose(): EngineWorker {
    const { threads } = this.#limits
    const all = [...this.#workers]
    const reacting = all.filter((worker) => !this.#heldUp.has(worker))
    const [best] = reacting.sort((a, b) => a.load - b.load)
    const busy = !best || best.load > 0
    if (busy && reacting.length < threads && all.length < threads + EXTRA_WORKERS) return this.#add()
    return best ?? all.sort((a, b) => a.load - b.load)[0] ?? this.#add()
  }

  /** As long as jobs share a thread: where one of them holds it up, the others begin anew elsewhere. */
  #watch(worker: EngineWorker): void {
    if (worker.load < 2 || !this.#workers.has(worker)) {
      this.#watched.delete(worker)
      return
    }
    this.#watched.add(worker)
    const others = [...this.#workers].some((other) => other !== worker && !this.#heldUp.has(other))
    if (!worker.isSilent) worker.ping()
    else if (others || this.#workers.size < this.#limits.threads + EXTRA_WORKERS) this.#relieve(worker)
    const timer = setTimeout(() => this.#watch(worker), SILENCE_MS + TURN_MS * worker.load)
    timer.unref()
  }

  #relieve(worker: EngineWorker): void {
    this.#heldUp.add(worker)
    for (const job of worker.waitingJobs()) {
      worker.cancel(job)
      worker.forget(job)
      this.#assign(job)
    }
  }

  /** Workers that took over are ended when all react again. */
  #settleDown(heard: EngineWorker): void {
    this.#heldUp.delete(heard)
    if (this.#heldUp.size > 0 || this.#workers.size <= this.#limits.threads) return
    const idle = [...this.#workers].find((worker) => worker.load === 0)
    if (!idle) return
    this.#workers.delete(idle)
    void idle.terminate()
  }

  #add(): EngineWorker {
    const worker = new EngineWorker({
      heard: (heard) => this.#settleDown(heard),
      gone: (gone, left, error) => this.#replace(gone, left, error),
    })
    this.#workers.add(worker)
    return worker
  }

  #replace(gone: EngineWorker, left: Job[], error: Error | undefined): void {
    this.#workers.delete(gone)
    this.#heldUp.delete(gone)
    if (this.#isClosed) return
    for (const job of left) {
      if (!this.#jobs.has(job)) continue
      job.deaths += error ? 1 : 0
      if (error && (left.length === 1 || job.deaths >= MAX_DEATHS)) job.fail(causeOfDeath(error))
      else this.#assign(job)
    }
    if (this.#workers.size === 0) this.#add()
  }

  #stop(job: Job): void {
    const worker = [...this.#workers].find((candidate) => candidate.has(job))
    if (!worker) return
    worker.cancel(job)
    this.#endUnlessStopped(worker, job)
  }

  /** A worker that still loads has not begun the job: ended, it would never be ready on a machine under load. */
  #endUnlessStopped(worker: EngineWorker, job: Job): void {
    const timer = setTimeout(() => {
      if (!worker.has(job)) return
      if (worker.isReady) void worker.terminate()
      else this.#endUnlessStopped(worker, job)
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

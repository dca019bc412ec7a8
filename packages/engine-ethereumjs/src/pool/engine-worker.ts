import { Worker } from 'node:worker_threads'
import { readThroughLayers } from '@upfront/simulation'
import type { Job } from './job.js'
import type { FromWorker, ToWorker, WorkerData } from './messages.js'

/** Of V8's heap, for each worker. */
export const HEAP_MB = 512

/** Workers run what was built: the compiled file stands beside this one, or in dist where this one is TypeScript. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/pool/worker.js' : './worker.js',
  import.meta.url,
)

/** One thread and the jobs that take turns in it. */
export class EngineWorker {
  private readonly thread: Worker
  private readonly jobs = new Map<number, Job>()
  private readonly computing = new Int32Array(new SharedArrayBuffer(4))
  private lastError: Error | undefined
  private isReady = false
  /** A ping left, and nothing was heard since. */
  isSilent = false

  constructor(on: {
    /** It reacts: told after each message. */
    heard(worker: EngineWorker): void
    /** Told once when the thread is gone, with the jobs that it leaves behind and why if it did not end by our will. */
    gone(worker: EngineWorker, left: Job[], error: Error | undefined): void
  }) {
    this.thread = new Worker(WORKER_FILE, {
      execArgv: [],
      env: {},
      workerData: { computing: this.computing } satisfies WorkerData,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    this.thread.unref()
    this.thread.on('message', (message: FromWorker) => {
      this.receive(message)
      on.heard(this)
    })
    this.thread.on('error', (error) => {
      this.lastError = error
    })
    this.thread.on('exit', () => {
      const left = [...this.jobs.values()]
      this.jobs.clear()
      on.gone(this, left, this.lastError)
    })
  }

  get load(): number {
    return this.jobs.size
  }

  has(job: Job): boolean {
    return this.jobs.has(job.id)
  }

  /** To be heard of as soon as it is the turn of messages. One that still loads is busy, not silent. */
  ping(): void {
    if (!this.isReady) return
    this.isSilent = true
    this.post({ kind: 'ping' })
  }

  /** All but the one that computes, or did last. */
  waitingJobs(): Job[] {
    const computing = Atomics.load(this.computing, 0)
    return [...this.jobs.values()].filter(({ id }) => id !== computing)
  }

  start(job: Job): void {
    this.jobs.set(job.id, job)
    this.thread.ref()
    this.post({ job: job.id, ...job.work })
  }

  cancel(job: Job): void {
    this.post({ job: job.id, kind: 'cancel' })
  }

  /** What it still answers about the job is not listened to. */
  forget(job: Job): void {
    this.jobs.delete(job.id)
    if (this.jobs.size === 0) this.thread.unref()
  }

  async terminate(): Promise<void> {
    await this.thread.terminate()
  }

  private receive(message: FromWorker): void {
    this.isSilent = false
    if (message.kind === 'ready') this.isReady = true
    if (!('job' in message)) return
    const job = this.jobs.get(message.job)
    if (!job) return
    if (message.kind === 'read') {
      void this.answer(job, message.reads)
      return
    }
    this.forget(job)
    job.resolve(message)
  }

  private async answer(job: Job, reads: Parameters<typeof readThroughLayers>[1]): Promise<void> {
    try {
      const values = await readThroughLayers(job.state, reads, job.signal)
      if (this.has(job)) this.post({ job: job.id, kind: 'values', values })
    } catch (error) {
      job.reject(error)
      if (this.has(job)) this.cancel(job)
    }
  }

  private post(message: ToWorker): void {
    this.thread.postMessage(message)
  }
}

import { Worker } from 'node:worker_threads'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { type SimulationOutcome, type SimulationPlan, SimulationRejected, type StateSource } from '@upfront/simulation'
import { readThroughLayers } from '../state/read-through-layers.js'
import type { FromWorker, SentOutcome, ToWorker } from './messages.js'

/** Of V8's heap, for each worker. */
const HEAP_MB = 512

/** Workers run what was built: the compiled file stands beside this one, or in dist where this one is TypeScript. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/pool/worker.js' : './worker.js',
  import.meta.url,
)

export interface Job {
  plan: SimulationPlan
  state: StateSource
  signal: AbortSignal
  resolve(outcome: SimulationOutcome): void
  reject(reason: unknown): void
}

/** One thread, one simulation at a time. */
export class EngineWorker {
  private readonly thread: Worker
  private job: Job | undefined
  private ended = false

  constructor(
    private readonly on: {
      /** It takes the next job. */
      idle(worker: EngineWorker): void
      /** The thread is gone, whatever the cause. */
      gone(worker: EngineWorker): void
    },
  ) {
    this.thread = new Worker(WORKER_FILE, {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    this.thread.unref()
    this.thread.on('message', (message: FromWorker) => this.receive(message))
    this.thread.on('error', (error) => this.settle((job) => job.reject(fromThread(error))))
    this.thread.on('exit', () => this.leave())
  }

  get busy(): boolean {
    return this.job !== undefined
  }

  runs(job: Job): boolean {
    return this.job === job
  }

  start(job: Job): void {
    this.job = job
    this.thread.ref()
    this.post({ kind: 'simulate', plan: job.plan })
  }

  /** Lets a simulation that waits for state end by itself: nothing comes back to it. */
  failRead(): void {
    this.post({ kind: 'readFailed' })
  }

  async terminate(): Promise<void> {
    await this.thread.terminate()
  }

  private receive(message: FromWorker): void {
    const { job } = this
    if (!job) return
    if (message.kind === 'read') return void this.answer(job, message.reads)
    this.settle(() => {
      if (message.kind === 'done') job.resolve(withCalls(message.outcome, job.plan))
      else if (message.kind === 'failed')
        job.reject(Object.assign(new Error(message.message), { stack: message.stack }))
      else job.reject(new SimulationRejected(message.code, message.message, message.block, message.call))
    })
    this.on.idle(this)
  }

  private async answer(job: Job, reads: Parameters<typeof readThroughLayers>[1]): Promise<void> {
    try {
      const values = await readThroughLayers(job.state, reads, job.signal)
      if (this.job === job) this.post({ kind: 'values', values })
    } catch (error) {
      job.reject(error)
      if (this.job === job) this.failRead()
    }
  }

  private settle(how: (job: Job) => void): void {
    const { job } = this
    this.job = undefined
    this.thread.unref()
    if (job) how(job)
  }

  private leave(): void {
    if (this.ended) return
    this.ended = true
    this.settle((job) => job.reject(new Error('the engine thread ended')))
    this.on.gone(this)
  }

  private post(message: ToWorker): void {
    this.thread.postMessage(message)
  }
}

function withCalls({ blocks, touched }: SentOutcome, plan: SimulationPlan): SimulationOutcome {
  return {
    touched,
    blocks: blocks.map((block, index) => ({
      ...block,
      transactions: block.transactions.map((sent, position) => ({
        ...sent,
        call: plan.blocks[index]!.calls[position]!,
      })),
    })),
  }
}

function fromThread(error: Error): Error {
  const outOfMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return outOfMemory
    ? new RpcError(ErrorCode.limitExceeded, `the simulation needs more memory than one request may use (${HEAP_MB} MB)`)
    : error
}

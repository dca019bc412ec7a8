import { parentPort } from 'node:worker_threads'
import { SimulationRejected, type StateRead, type StateValue, StretchRejected } from '@upfront/simulation'
import { simulatePlan } from '../execute/simulate-plan.js'
import { TimeSlice } from '../execute/time-slice.js'
import type { ReadState } from '../state/world-state.js'
import type { Answer, FromWorker, ToWorker, Work } from './messages.js'

const port = parentPort
if (!port) throw new Error('this file runs in a worker thread')

interface Running {
  slice: TimeSlice
  /** The read that it waits for. */
  waiting?: { resolve(values: StateValue[]): void; reject(reason: Error): void }
}

const running = new Map<number, Running>()

function send(message: FromWorker): void {
  port!.postMessage(message)
}

async function run(job: number, work: Work): Promise<void> {
  const state: Running = { slice: new TimeSlice() }
  const read = (reads: StateRead[]) =>
    new Promise<StateValue[]>((resolve, reject) => {
      state.waiting = { resolve, reject }
      send({ job, kind: 'read', reads })
    })
  running.set(job, state)
  send({ job, kind: 'started' })
  try {
    send({ job, ...(await perform(work, read, state.slice)) })
  } catch (error) {
    send({ job, ...failure(error) })
  } finally {
    running.delete(job)
  }
}

async function perform(work: Work, read: ReadState, slice: TimeSlice): Promise<Answer> {
  if (work.kind === 'execute') {
    // Most processes never follow a block under construction: what reads signed transactions need not be loaded there.
    const { executeStretch } = await import('../preconfirm/execute-stretch.js')
    return { kind: 'executed', executed: await executeStretch(work.stretch, work.validation, read, slice) }
  }
  const { blocks, touched } = await simulatePlan(work.plan, read, slice)
  const sent = blocks.map((block) => ({
    ...block,
    transactions: block.transactions.map(({ hash, nonce, gas }) => ({ hash, nonce, gas })),
  }))
  return { kind: 'simulated', outcome: { blocks: sent, touched } }
}

function failure(error: unknown): Answer {
  if (error instanceof SimulationRejected) {
    const { code, message, block, call } = error
    return { kind: 'simulationRejected', code, message, block, ...(call !== undefined && { call }) }
  }
  if (error instanceof StretchRejected) {
    return { kind: 'stretchRejected', message: error.message, transaction: error.transaction }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { kind: 'failed', message, ...(stack !== undefined && { stack }) }
}

port.on('message', ({ job, ...message }: ToWorker) => {
  if (message.kind === 'simulate' || message.kind === 'execute') {
    void run(job, message)
    return
  }
  const state = running.get(job)
  if (message.kind === 'values') {
    state?.waiting?.resolve(message.values)
  } else {
    const cancelled = new Error('cancelled')
    state?.slice.cancel(cancelled)
    state?.waiting?.reject(cancelled)
  }
})

send({ kind: 'ready' })

import { parentPort, workerData } from 'node:worker_threads'
import { RpcError } from '@upfront/protocol'
import {
  AnswerTooLong,
  answerOf,
  SimulationRejected,
  type StateRead,
  type StateValue,
  StretchRejected,
} from '@upfront/simulation'
import { TimeSlice } from '../evm/time-slice.js'
import { simulatePlan } from '../execute/simulate-plan.js'
import type { ReadState } from '../state/world-state.js'
import { lookingAhead } from './look-ahead.js'
import type { Ending, FromWorker, ToWorker, Work, WorkerData } from './messages.js'

const port = parentPort
if (!port) throw new Error('this file runs in a worker thread')
const { computing } = workerData as WorkerData

interface Running {
  slice: TimeSlice
  /** To be called when it begins to compute, or goes on. */
  resumed(): void
  /** The read that it waits for. */
  waiting?: { resolve(values: StateValue[]): void; reject(reason: Error): void }
}

const running = new Map<number, Running>()

function send(message: FromWorker): void {
  port!.postMessage(message)
}

async function run(job: number, work: Work): Promise<void> {
  const resumed = () => {
    Atomics.store(computing, 0, job)
  }
  const state: Running = { slice: new TimeSlice(resumed), resumed }
  const read = (reads: StateRead[]) =>
    new Promise<StateValue[]>((resolve, reject) => {
      state.waiting = { resolve, reject }
      send({ job, kind: 'read', reads })
    })
  running.set(job, state)
  try {
    send({ job, ...(await perform(work, read, state)) })
  } catch (error) {
    send({ job, ...failure(error) })
  } finally {
    running.delete(job)
  }
}

async function perform(work: Work, read: ReadState, { slice, resumed }: Running): Promise<Ending> {
  if (work.kind === 'execute') {
    // Most processes never follow a block under construction: the code for signed transactions is loaded at the first.
    const { executeStretch } = await import('../preconfirm/execute-stretch.js')
    resumed()
    return { kind: 'executed', executed: await executeStretch(work.stretch, work.validation, read, slice) }
  }
  resumed()
  return {
    kind: 'simulated',
    answer: answerOf(await simulatePlan(work.plan, lookingAhead(work.plan, read, slice), slice), work.plan),
  }
}

function failure(error: unknown): Ending {
  if (error instanceof SimulationRejected) {
    const { rejection, block, call } = error
    return { kind: 'simulationRejected', rejection, block, ...(call !== undefined && { call }) }
  }
  if (error instanceof StretchRejected) {
    return { kind: 'stretchRejected', message: error.message, transaction: error.transaction }
  }
  if (error instanceof AnswerTooLong) return { kind: 'tooLong' }
  if (error instanceof RpcError) return { kind: 'refused', code: error.code, message: error.message }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { kind: 'failed', message, ...(stack !== undefined && { stack }) }
}

port.on('message', (received: ToWorker) => {
  if (received.kind === 'ping') {
    send({ kind: 'pong' })
    return
  }
  const { job, ...message } = received
  if (message.kind === 'simulate' || message.kind === 'execute') {
    void run(job, message)
    return
  }
  const state = running.get(job)
  if (message.kind === 'values') {
    state?.resumed()
    state?.waiting?.resolve(message.values)
  } else {
    const cancelled = new Error('cancelled')
    state?.slice.cancel(cancelled)
    state?.waiting?.reject(cancelled)
  }
})

send({ kind: 'ready' })

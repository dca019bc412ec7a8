import { parentPort } from 'node:worker_threads'
import { type SimulationPlan, SimulationRejected, type StateRead, type StateValue } from '@upfront/simulation'
import { simulatePlan } from '../execute/simulate-plan.js'
import { TimeSlice } from '../execute/time-slice.js'
import type { FromWorker, ToWorker } from './messages.js'

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

async function simulate(job: number, plan: SimulationPlan): Promise<void> {
  const state: Running = { slice: new TimeSlice() }
  const read = (reads: StateRead[]) =>
    new Promise<StateValue[]>((resolve, reject) => {
      state.waiting = { resolve, reject }
      send({ job, kind: 'read', reads })
    })
  running.set(job, state)
  send({ job, kind: 'started' })
  try {
    const { blocks, touched } = await simulatePlan(plan, read, state.slice)
    const sent = blocks.map((block) => ({
      ...block,
      transactions: block.transactions.map(({ hash, nonce, gas }) => ({ hash, nonce, gas })),
    }))
    send({ job, kind: 'done', outcome: { blocks: sent, touched } })
  } catch (error) {
    send({ job, ...failure(error) })
  } finally {
    running.delete(job)
  }
}

function failure(error: unknown) {
  if (error instanceof SimulationRejected) {
    const { code, message, block, call } = error
    return { kind: 'rejected' as const, code, message, block, ...(call !== undefined && { call }) }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { kind: 'failed' as const, message, ...(stack !== undefined && { stack }) }
}

port.on('message', (message: ToWorker) => {
  if (message.kind === 'simulate') {
    void simulate(message.job, message.plan)
    return
  }
  const state = running.get(message.job)
  if (message.kind === 'values') {
    state?.waiting?.resolve(message.values)
  } else {
    const cancelled = new Error('cancelled')
    state?.slice.cancel(cancelled)
    state?.waiting?.reject(cancelled)
  }
})

import { parentPort } from 'node:worker_threads'
import { type SimulationPlan, SimulationRejected, type StateRead, type StateValue } from '@upfront/simulation'
import { simulatePlan } from '../execute/simulate-plan.js'
import type { FromWorker, ToWorker } from './messages.js'

const port = parentPort
if (!port) throw new Error('this file runs in a worker thread')

let waiting: { resolve(values: StateValue[]): void; reject(reason: Error): void } | undefined

function send(message: FromWorker): void {
  port!.postMessage(message)
}

function read(reads: StateRead[]): Promise<StateValue[]> {
  return new Promise((resolve, reject) => {
    waiting = { resolve, reject }
    send({ kind: 'read', reads })
  })
}

async function run(plan: SimulationPlan): Promise<void> {
  try {
    const { blocks, touched } = await simulatePlan(plan, read)
    const sent = blocks.map((block) => ({
      ...block,
      transactions: block.transactions.map(({ hash, nonce, gas }) => ({ hash, nonce, gas })),
    }))
    send({ kind: 'done', outcome: { blocks: sent, touched } })
  } catch (error) {
    if (error instanceof SimulationRejected) {
      const { code, message, block, call } = error
      send({ kind: 'rejected', code, message, block, ...(call !== undefined && { call }) })
    } else {
      const { message, stack } = error instanceof Error ? error : new Error(String(error))
      send({ kind: 'failed', message, ...(stack !== undefined && { stack }) })
    }
  }
}

port.on('message', (message: ToWorker) => {
  if (message.kind === 'simulate') void run(message.plan)
  else if (message.kind === 'values') waiting?.resolve(message.values)
  else waiting?.reject(new Error('the state could not be read'))
})

import { openSync, readSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { PortableInstance, type Said } from './instance.js'

/** A worker's start parameters. */
export interface WorkerData {
  module: WebAssembly.Module
  memoryBytes: number
  /** The thread's niceness on Linux, behind the event loop. */
  niceness: number
}

/** Text, and more of it in shared memory. */
export type Question = readonly [text: string, ...rest: Uint8Array[]]

/** A worker's answer to the last of the questions sent, or why it has none. */
export type FromWorker = { bytes: number } & (
  | { said: Said }
  | { said?: undefined; message: string; isOutOfMemory: boolean }
)

const port = parentPort
if (!port) throw new Error('this file runs in a worker thread')
const { module, memoryBytes, niceness } = workerData as WorkerData
// On Linux this affects only this thread: the event loop goes first if cores are scarce.
if (process.platform === 'linux') setPriority(niceness)
const instance = new PortableInstance(module, memoryBytes, clockOfThread())

port.on('message', (questions: readonly Question[]) => {
  try {
    const [said] = questions.map(([question, ...rest]) => instance.ask(question, rest)).slice(-1)
    post({ said: said!, bytes: instance.bytes })
  } catch (error) {
    const { message, isOutOfMemory = false } = error as { message: string; isOutOfMemory?: boolean }
    post({ message, isOutOfMemory, bytes: Number.POSITIVE_INFINITY })
  }
})

function post(message: FromWorker): void {
  const json = message.said?.json
  port!.postMessage(message, json === undefined ? [] : [json.buffer])
}

/** CPU time of this thread in milliseconds, if Linux tells it. Unlike wall time, it stops while others have the processor. */
function clockOfThread(): () => number {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r')
    const text = Buffer.alloc(64)
    // The first number is nanoseconds.
    return () => Number.parseInt(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)), 10) / 1e6
  } catch {
    return () => performance.now()
  }
}

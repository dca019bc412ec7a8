import { openSync, readSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { PortableInstance, type Said } from './instance.js'

/** What a worker is created with. */
export interface WorkerData {
  module: WebAssembly.Module
  memoryBytes: number
  /** How far it stands back for the event loop, as Linux counts. */
  niceness: number
}

/** Text, and more of it in memory that all threads have. */
export type Question = readonly [text: string, ...rest: Uint8Array[]]

/** What a worker says to the last of the questions that it was sent, or why it can't. */
export type FromWorker = { bytes: number } & (
  | { said: Said }
  | { said?: undefined; message: string; isOutOfMemory: boolean }
)

const port = parentPort
if (!port) throw new Error('this file runs in a worker thread')
const { module, memoryBytes, niceness } = workerData as WorkerData
// On Linux that is this thread's alone: the event loop goes first if cores are few.
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

/** Milliseconds of CPU that this thread has used, where Linux tells: unlike the time of day, it does not pass while others have the processor. */
function clockOfThread(): () => number {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r')
    const text = Buffer.alloc(64)
    // Nanoseconds come first.
    return () => Number.parseInt(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)), 10) / 1e6
  } catch {
    return () => performance.now()
  }
}

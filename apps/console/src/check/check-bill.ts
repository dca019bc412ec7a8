import type { Verification } from '@upfront/receipt/page'
import type { Question, Reply } from './check-worker.js'

/** Longer than checking any bill of a gateway takes. */
const MAX_MS = 120_000

/**
 * Checks a bill in a worker that only loads the engine's module: signatures, hashes, proofs, the price, and the work by executing it again.
 * @throws Error if it is not a bill, naming the field, or if it takes too long
 */
export function checkBill(question: Question, signal: AbortSignal): Promise<Verification> {
  const worker = new Worker(new URL('./check-worker.ts', import.meta.url), { type: 'module' })
  const answered = new Promise<Verification>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the check takes longer than two minutes')), MAX_MS)
    signal.addEventListener('abort', () => reject(new Error('stopped')))
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      clearTimeout(timer)
      if ('fault' in data) reject(new Error(data.fault))
      else resolve(data.verification)
    }
    worker.postMessage(question)
    worker.onerror = ({ message }) => reject(new Error(message || 'the check did not load'))
  })
  return answered.finally(() => worker.terminate())
}

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Digest, type DigestKind, digest, type JsonText } from './digest.js'
import type { DigestAnswer, DigestJob } from './digest-worker.js'

/** Shorter texts are digested at once: handing them over would take about as long. */
const INLINE_BYTES = 64 * 1024
/** V8's heap of the thread: canonical JSON of the longest answer, several times over. */
const HEAP_MB = 1_024

/** Threads run compiled code: it is in dist where this file is TypeScript, as in tests. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/digest/digest-worker.js' : './digest-worker.js',
  import.meta.url,
)

/**
 * Digests answers for their receipts. Long ones go to a thread of its own, one at a time, so that the event loop goes on and no
 * more than one of them is parsed at once. The thread starts with the first and keeps no process alive.
 */
export class Digester {
  #thread: Worker | undefined
  /** Settles when what was asked before has been digested. */
  #before: Promise<unknown> = Promise.resolve()

  /** Rejects where the text is no JSON of that kind, or more than the thread can hold. */
  async digest(kind: DigestKind, json: JsonText): Promise<Digest> {
    if (json.length <= INLINE_BYTES) return digest(kind, json)
    const digested = this.#before.then(() => this.#ask({ kind, json }))
    this.#before = digested.catch(() => undefined)
    return digested
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  async #ask(job: DigestJob): Promise<Digest> {
    this.#thread ??= this.#start()
    const thread = this.#thread
    const waiting = new AbortController()
    thread.ref()
    thread.postMessage(job)
    try {
      const ended = once(thread, 'exit', waiting).then(() => {
        throw new Error('the thread that digests answers has ended')
      })
      const [answer]: DigestAnswer[] = await Promise.race([once(thread, 'message', waiting), ended])
      if (answer?.digest === undefined) throw new Error(answer?.error ?? 'no answer')
      return answer.digest
    } finally {
      waiting.abort()
      thread.unref()
    }
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB }
    const thread = new Worker(WORKER_FILE, { execArgv: [], env: {}, resourceLimits })
    // Who waits is told too; the next one gets another thread.
    thread.on('error', () => undefined)
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined
    })
    return thread
  }
}

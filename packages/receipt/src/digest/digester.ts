import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Digest, type DigestKind, digest, type JsonText } from './digest.js'
import type { DigestAnswer, DigestJob } from './digest-worker.js'

/** Shorter texts are digested inline: sending them to the thread would take about as long. */
const INLINE_BYTES = 64 * 1024
/** Heap limit of the thread: canonical JSON of the longest answer, several times over. */
const HEAP_MB = 1_024

/** Worker threads need compiled code: if this file is TypeScript, as in tests, it is in dist. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/digest/digest-worker.js' : './digest-worker.js',
  import.meta.url,
)

/**
 * Digests answers for their receipts. Long ones go to a worker thread, one at a time, so that the event loop is not blocked and only one is
 * parsed at once. The thread starts on first use and does not keep the process alive.
 */
export class Digester {
  #thread: Worker | undefined
  /** Settles when all earlier requests are digested. */
  #before: Promise<unknown> = Promise.resolve()

  /** Rejects if the text is not JSON of that kind, or too large for the thread. */
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
    // `exit` rejects the pending request; the next request starts a new thread.
    thread.on('error', () => undefined)
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined
    })
    return thread
  }
}

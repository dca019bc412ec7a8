import { parentPort } from 'node:worker_threads'
import { type Digest, type DigestKind, digest, type JsonText } from './digest.js'

/** A request to the worker thread. */
export interface DigestJob {
  kind: DigestKind
  json: JsonText
}

export type DigestAnswer = { digest: Digest; error?: never } | { digest?: never; error: string }

function answer({ kind, json }: DigestJob): DigestAnswer {
  try {
    return { digest: digest(kind, json) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

parentPort?.on('message', (job: DigestJob) => parentPort?.postMessage(answer(job)))

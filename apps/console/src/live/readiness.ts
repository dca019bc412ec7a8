import { poll } from './poll.js'

/** The part of `GET /health/ready` that is shown. */
export interface Readiness {
  /** Set if predictions are scored. */
  scores?: true
  following?: {
    ageMs?: number
    trusted: boolean
    /** `not`: why no state is carried. */
    carrying?: { not?: string }
    recent: { hash: string; carried?: boolean; reason?: string }[]
  }
  preconfirmed?: {
    connected: boolean
    ageMs?: number
    /** Recent problems of the stream, oldest first. */
    faults?: {
      kind: 'gap' | 'mismatch' | 'nativePrecompile' | 'differs' | 'lost' | 'undecodable'
      block?: string
      flashblock?: number
      at: string
    }[]
  }
}

const EVERY_MS = 2_000

/** Polls every two seconds. @returns a function that stops it */
export function watchReadiness(onReport: (report: Readiness) => void): () => void {
  // A gateway that is not ready also reports its state, with status 503.
  return poll('/health/ready', EVERY_MS, (response) => response.json() as Promise<Readiness>, onReport)
}

/** The age of the state that answers use, and what is not followed or carried. */
export function ageText({ following, preconfirmed }: Readiness): string {
  const ages = [
    following?.ageMs !== undefined && `the head is ${following.ageMs} ms old`,
    preconfirmed?.ageMs !== undefined && `pending is ${preconfirmed.ageMs} ms old`,
    preconfirmed?.connected === false && 'the stream is not connected',
    following?.carrying?.not !== undefined && `state is not carried: ${following.carrying.not}`,
  ]
  return ages.filter(Boolean).join(', ')
}

/** Whether we verified or carried a head or flashblock by executing it. */
export function verifiedText(hash: string, isFlashblock: boolean, { following }: Readiness): string {
  if (isFlashblock) return 'verified'
  const head = following?.recent.find((recent) => recent.hash === hash)
  if (head?.carried === undefined) return ''
  return head.carried ? 'verified, carried' : `not carried${head.reason === undefined ? '' : `: ${head.reason}`}`
}

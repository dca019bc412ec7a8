import { poll } from './poll.js'

/** What the gateway says of its state, as far as it is shown: `GET /health/ready`. */
export interface Readiness {
  /** Predictions are scored. */
  scores?: true
  following?: {
    ageMs?: number
    trusted: boolean
    /** `not`: why state is not carried at all. */
    carrying?: { not?: string }
    recent: { hash: string; carried?: boolean; reason?: string }[]
  }
  preconfirmed?: {
    connected: boolean
    ageMs?: number
    /** What was wrong with the stream lately, oldest first. */
    faults?: {
      kind: 'gap' | 'mismatch' | 'nativePrecompile' | 'differs' | 'lost' | 'undecodable'
      block?: string
      flashblock?: number
      at: string
    }[]
  }
}

const EVERY_MS = 2_000

/** Asks every two seconds. @returns what ends it */
export function watchReadiness(onReport: (report: Readiness) => void): () => void {
  // One that is not ready says so with its state, and status 503.
  return poll('/health/ready', EVERY_MS, (response) => response.json() as Promise<Readiness>, onReport)
}

/** How old the state is that answers stand on, and what is not followed or carried. */
export function ageText({ following, preconfirmed }: Readiness): string {
  const ages = [
    following?.ageMs !== undefined && `the head is ${following.ageMs} ms old`,
    preconfirmed?.ageMs !== undefined && `pending is ${preconfirmed.ageMs} ms old`,
    preconfirmed?.connected === false && 'the stream is not connected',
    following?.carrying?.not !== undefined && `state is not carried: ${following.carrying.not}`,
  ]
  return ages.filter(Boolean).join(', ')
}

/** What is known of a head or a flashblock: whether our own execution verified or carried it. */
export function verifiedText(hash: string, isFlashblock: boolean, { following }: Readiness): string {
  if (isFlashblock) return 'verified'
  const head = following?.recent.find((recent) => recent.hash === hash)
  if (head?.carried === undefined) return ''
  return head.carried ? 'verified, carried' : `not carried${head.reason === undefined ? '' : `: ${head.reason}`}`
}

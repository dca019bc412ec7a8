import type { CancelSignal } from '@upfront/node'
import type { StateSource } from '@upfront/simulation'
import type { Answer, Work } from './messages.js'

/** Work that somebody waits for. */
export interface Job {
  readonly id: number
  readonly work: Work
  readonly state: StateSource
  readonly signal: CancelSignal
  /** How often its thread died under it. */
  deaths: number
  resolve(answer: Answer): void
  reject(reason: unknown): void
}

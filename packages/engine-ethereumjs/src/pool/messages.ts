import type { ErrorCode } from '@upfront/protocol'
import type {
  ExecutedBlock,
  ExecutedTransaction,
  SimulationOutcome,
  SimulationPlan,
  StateRead,
  StateValue,
} from '@upfront/simulation'

/** The outcome without the calls of the plan: whoever sent the plan has them. */
export type SentOutcome = Omit<SimulationOutcome, 'blocks'> & { blocks: SentBlock[] }
type SentBlock = Omit<ExecutedBlock, 'transactions'> & { transactions: Omit<ExecutedTransaction, 'call'>[] }

/** Each about one simulation, by its number. */
export type ToWorker = { job: number } & (
  | { kind: 'simulate'; plan: SimulationPlan }
  | { kind: 'values'; values: StateValue[] }
  /** Nobody waits for it any more. */
  | { kind: 'cancel' }
)

export type FromWorker = { job: number } & (
  | { kind: 'started' }
  | { kind: 'read'; reads: StateRead[] }
  | { kind: 'done'; outcome: SentOutcome }
  | { kind: 'rejected'; code: ErrorCode; message: string; block: number; call?: number }
  | { kind: 'failed'; message: string; stack?: string }
)

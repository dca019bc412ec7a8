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
export type SentBlock = Omit<ExecutedBlock, 'transactions'> & { transactions: Omit<ExecutedTransaction, 'call'>[] }

export type ToWorker =
  | { kind: 'simulate'; plan: SimulationPlan }
  | { kind: 'values'; values: StateValue[] }
  /** The read that the worker waits for failed: whoever asked knows why already. */
  | { kind: 'readFailed' }

export type FromWorker =
  | { kind: 'read'; reads: StateRead[] }
  | { kind: 'done'; outcome: SentOutcome }
  | { kind: 'rejected'; code: ErrorCode; message: string; block: number; call?: number }
  | { kind: 'failed'; message: string; stack?: string }

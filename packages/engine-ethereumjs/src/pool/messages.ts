import type { ErrorCode } from '@upfront/protocol'
import type {
  BlockStretch,
  ExecutedBlock,
  ExecutedTransaction,
  SimulationOutcome,
  SimulationPlan,
  StateRead,
  StateValue,
} from '@upfront/simulation'
import type { NamelessStretch } from '../preconfirm/execute-stretch.js'

/** What a worker is asked to do. */
export type Work =
  | { kind: 'simulate'; plan: SimulationPlan }
  /** `validation`: see `executeStretch`. */
  | { kind: 'execute'; stretch: BlockStretch; validation: boolean }

/** The outcome without the calls of the plan: whoever sent the plan has them. */
export type SentOutcome = Omit<SimulationOutcome, 'blocks'> & { blocks: SentBlock[] }
type SentBlock = Omit<ExecutedBlock, 'transactions'> & { transactions: Omit<ExecutedTransaction, 'call'>[] }

/** How a job ended. */
export type Answer =
  | { kind: 'simulated'; outcome: SentOutcome }
  | { kind: 'executed'; executed: NamelessStretch }
  | { kind: 'simulationRejected'; code: ErrorCode; message: string; block: number; call?: number }
  | { kind: 'stretchRejected'; message: string; transaction: number }
  | { kind: 'failed'; message: string; stack?: string }

/** About one job, by its number; `ping` is answered with `pong` as soon as it is the turn of messages. */
export type ToWorker =
  | { kind: 'ping' }
  | ({ job: number } & (
      | Work
      | { kind: 'values'; values: StateValue[] }
      /** Nobody waits for it any more. */
      | { kind: 'cancel' }
    ))

/** `ready` comes once, when the worker has loaded. */
export type FromWorker =
  | { kind: 'ready' | 'pong' }
  | ({ job: number } & ({ kind: 'read'; reads: StateRead[] } | Answer))

/** What a worker is made with. */
export interface WorkerData {
  /** The number of the job that computes, or did last: to be read while the worker says nothing. */
  computing: Int32Array
}

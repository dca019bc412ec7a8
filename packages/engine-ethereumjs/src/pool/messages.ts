import type { ErrorCode } from '@upfront/protocol'
import type { Answer, BlockStretch, Rejection, SimulationPlan, StateRead, StateValue } from '@upfront/simulation'
import type { NamelessStretch } from '../preconfirm/execute-stretch.js'

/** What a worker is asked to do. */
export type Work =
  | { kind: 'simulate'; plan: SimulationPlan }
  /** `validation`: see `executeStretch`. */
  | { kind: 'execute'; stretch: BlockStretch; validation: boolean }

/** How a job ended. */
export type Ending =
  | { kind: 'simulated'; answer: Answer }
  | { kind: 'executed'; executed: NamelessStretch }
  | { kind: 'simulationRejected'; rejection: Rejection; block: number; call?: number }
  | { kind: 'stretchRejected'; message: string; transaction: number }
  | { kind: 'tooLong' }
  /** An RpcError. */
  | { kind: 'refused'; code: ErrorCode; message: string }
  | { kind: 'failed'; message: string; stack?: string }

/** About one job, by its number; `ping` is answered with `pong` as soon as the worker handles messages. */
export type ToWorker =
  | { kind: 'ping' }
  | ({ job: number } & (
      | Work
      | { kind: 'values'; values: StateValue[] }
      /** Nobody waits for it any more. */
      | { kind: 'cancel' }
    ))

/** `ready` is sent once, when the worker has loaded. */
export type FromWorker =
  | { kind: 'ready' | 'pong' }
  | ({ job: number } & ({ kind: 'read'; reads: StateRead[] } | Ending))

/** What a worker is created with. */
export interface WorkerData {
  /** The number of the job that computes, or did last: shared, so that it can be read while the worker does not answer. */
  computing: Int32Array
}

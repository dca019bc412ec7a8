import type {
  BlockExecution,
  BlockExecutionResult,
  PreconfirmationExecutor,
} from '../engine/preconfirmation-executor.js'
import type { DriveLimits, Driver } from './driver.js'
import type { PinnedState } from './pinned-state.js'
import type { OnLack } from './touch-hints.js'

/** Where signed transactions of a block under construction are executed. */
export interface ExecutionSite extends DriveLimits {
  executor: PreconfirmationExecutor
  driver: Pick<Driver, 'run'>
  /** Told of the values that had to be read. */
  onLack: OnLack
}

/**
 * Executes transactions of a block. Several transactions are run side by side first, so that what they read takes few rounds.
 * @throws ExecutionRejected; UpstreamError, BlockMoved; RpcError -32005 over the budget; the signal's reason
 */
export async function executeTransactions(
  execution: BlockExecution,
  at: PinnedState,
  site: ExecutionSite,
): Promise<BlockExecutionResult> {
  const { executor, driver, cancellation, onLack } = site
  const { transactions } = execution
  if (transactions.length > 1) {
    const warm = async (transaction: BlockExecution['transactions'][number]) =>
      driver.run(() => executor.warm(transaction, execution, at, cancellation), at, site, onLack)
    await Promise.allSettled(transactions.map(warm))
    cancellation.signal.throwIfAborted()
  }
  return driver.run(() => executor.execute(execution, at, cancellation), at, site, onLack)
}

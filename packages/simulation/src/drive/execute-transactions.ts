import type {
  BlockExecution,
  BlockExecutionResult,
  PreconfirmationExecutor,
} from '../engine/preconfirmation-executor.js'
import type { DriveLimits, Driver } from './driver.js'
import type { PinnedState } from './pinned-state.js'
import type { OnLack } from './touch-hints.js'

/** The block under construction in which signed transactions are executed. */
export interface ExecutionSite extends DriveLimits {
  executor: PreconfirmationExecutor
  driver: Pick<Driver, 'run'>
  /** Called with missing values before they are read. */
  onLack: OnLack
}

/**
 * Executes a block's transactions. Several are first run in parallel, to read their state in few rounds.
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
    const prefetch = async (transaction: BlockExecution['transactions'][number]) =>
      driver.run(() => executor.prefetch(transaction, execution, at, cancellation), at, site, onLack)
    await Promise.allSettled(transactions.map(prefetch))
    cancellation.signal.throwIfAborted()
  }
  return driver.run(() => executor.execute(execution, at, cancellation), at, site, onLack)
}

import type { BlockStretch, ExecutedStretch, PreconfirmationExecutor } from '../engine/preconfirmation-executor.js'
import type { DriveLimits, Driver, OnLack } from './driver.js'
import type { PinnedState } from './pinned-state.js'

/** Where signed transactions of a block under construction are executed. */
export interface StretchSite extends DriveLimits {
  executor: PreconfirmationExecutor
  driver: Pick<Driver, 'run'>
  /** Told of the values that had to be read. */
  onLack: OnLack
}

/**
 * Executes a stretch. Several transactions are run side by side first, so that what they read takes few rounds.
 * @throws StretchRejected; UpstreamError, BlockMoved; RpcError -32005 over the budget; the signal's reason
 */
export async function executeStretch(
  stretch: BlockStretch,
  at: PinnedState,
  site: StretchSite,
): Promise<ExecutedStretch> {
  const { executor, driver, cancellation, onLack } = site
  const { transactions } = stretch
  if (transactions.length > 1) {
    const warm = async (transaction: BlockStretch['transactions'][number]) =>
      driver.run(() => executor.warm(transaction, stretch, at, cancellation), at, site, onLack)
    await Promise.allSettled(transactions.map(warm))
    cancellation.signal.throwIfAborted()
  }
  return driver.run(() => executor.execute(stretch, at, cancellation), at, site, onLack)
}

import type { BlockHeader, Hash } from '@upfront/protocol'
import type { BlockEnvironment, BlockExecutionResult, ExecutedPart } from '@upfront/simulation'
import type { Flashblock } from './flashblock.js'
import type { PreconfirmedBlock } from './snapshot.js'

/** `before` extended by an execution, or the block's first execution if there is no `before`. */
export function extendBlock(
  before: PreconfirmedBlock | undefined,
  environment: BlockEnvironment,
  executed: BlockExecutionResult,
  newest: Flashblock,
): PreconfirmedBlock {
  return {
    payloadId: newest.payloadId,
    index: newest.index,
    hash: newest.blockHash,
    environment,
    layers: [...(before?.layers ?? []), ...executed.layers],
    transactions: [...(before?.transactions ?? []), ...executed.transactions],
    receipts: [...(before?.receipts ?? []), ...executed.receipts],
    gasUsed: executed.gasUsed,
    blobGasUsed: executed.blobGasUsed,
    receiptsRoot: executed.receiptsRoot,
    logsBloom: executed.logsBloom,
    ...(newest.withdrawalsRoot && { withdrawalsRoot: newest.withdrawalsRoot }),
  }
}

/** How the execution contradicts the flashblock. A builder that sends a zero receipts root claims neither root nor bloom. */
export function differenceOf(executed: BlockExecutionResult, claimed: Flashblock): string | undefined {
  if (executed.gasUsed !== claimed.gasUsed) return `gas used ${executed.gasUsed}, claimed ${claimed.gasUsed}`
  if (/^0x0*$/.test(claimed.receiptsRoot)) return undefined
  if (executed.receiptsRoot !== claimed.receiptsRoot)
    return `receipts root ${executed.receiptsRoot}, claimed ${claimed.receiptsRoot}`
  if (executed.logsBloom !== claimed.logsBloom) return 'logs bloom is not the one claimed'
  return undefined
}

/**
 * What was executed of the block that this header seals, as layers on the parent's state. Undefined if it is another block, or nothing of
 * it was executed.
 */
export function executedPart(
  { environment, transactions, layers, receipts }: PreconfirmedBlock,
  header: BlockHeader,
  sealed: readonly Hash[],
): ExecutedPart | undefined {
  const isSame =
    receipts.length > 0 &&
    environment.number === header.number &&
    environment.parentHash === header.parentHash &&
    environment.timestamp === header.timestamp &&
    environment.gasLimit === header.gasLimit &&
    environment.feeRecipient === header.miner &&
    environment.prevRandao === header.mixHash &&
    environment.baseFeePerGas === header.baseFeePerGas &&
    environment.parentBeaconBlockRoot === header.parentBeaconBlockRoot &&
    transactions.every(({ hash }, index) => hash === sealed[index])
  return isSame ? { layers, receipts: [...receipts] } : undefined
}

import type { BlockEnvironment, ExecutedStretch } from '@upfront/simulation'
import type { Flashblock } from './flashblock.js'
import type { PreconfirmedBlock } from './snapshot.js'

/** `before` with what was executed on it; a block's first stretch where there is none. */
export function extended(
  before: PreconfirmedBlock | undefined,
  environment: BlockEnvironment,
  executed: ExecutedStretch,
  newest: Flashblock,
): PreconfirmedBlock {
  return {
    payloadId: newest.payloadId,
    index: newest.index,
    hash: newest.blockHash,
    environment,
    layers: [...(before?.layers ?? []), executed.layer],
    transactions: [...(before?.transactions ?? []), ...executed.transactions],
    receipts: [...(before?.receipts ?? []), ...executed.receipts],
    gasUsed: executed.gasUsed,
    blobGasUsed: executed.blobGasUsed,
    receiptsRoot: executed.receiptsRoot,
    logsBloom: executed.logsBloom,
  }
}

/** What of the flashblock's claims the execution contradicts; a builder that leaves the receipts root zero claims neither root nor bloom. */
export function differenceOf(executed: ExecutedStretch, claimed: Flashblock): string | undefined {
  if (executed.gasUsed !== claimed.gasUsed) return `gas used ${executed.gasUsed}, claimed ${claimed.gasUsed}`
  if (/^0x0*$/.test(claimed.receiptsRoot)) return undefined
  if (executed.receiptsRoot !== claimed.receiptsRoot)
    return `receipts root ${executed.receiptsRoot}, claimed ${claimed.receiptsRoot}`
  if (executed.logsBloom !== claimed.logsBloom) return 'logs bloom is not the one claimed'
  return undefined
}

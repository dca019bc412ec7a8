import type { BlockStretch, BlockToCarry, ExecutedReceipt, ExecutedStretch } from '@upfront/simulation'
import { readExecuted, writeSealedBlock, writeStretch } from './border/records.js'
import { TextReader } from './border/text.js'

export function stretchText(stretch: BlockStretch): string {
  return writeStretch({ ...stretch, ...earlier(stretch.earlierReceipts) })
}

export function blockText(block: BlockToCarry): string {
  return writeSealedBlock({ ...block, ...earlier(block.earlierReceipts) })
}

function earlier(receipts: readonly ExecutedReceipt[]) {
  return {
    earlierReceipts: receipts.map(({ encoded }) => encoded),
    earlierGasUsed: receipts.at(-1)?.cumulativeGasUsed ?? 0n,
    earlierBlobGasUsed: receipts.reduce((sum, { blobGasUsed = 0n }) => sum + blobGasUsed, 0n),
  }
}

let layers = 0

export function readExecutedStretch(text: string, stretch: BlockStretch): ExecutedStretch {
  const { accounts, transactions, ...executed } = readExecuted(new TextReader(text))
  return {
    ...executed,
    layer: { id: `revm-${++layers}`, accounts },
    transactions: transactions.map((transaction, index) => ({
      ...transaction,
      raw: stretch.transactions[index] ?? '0x',
    })),
  }
}

import type { BlockStretch, BlockToCarry, ExecutedReceipt, ExecutedStretch } from '@upfront/simulation'
import { readExecuted, writeSealedBlock, writeStretch } from './border/records.js'
import { TextReader } from './border/text.js'

export function stretchText(stretch: BlockStretch): string {
  const { isSplit = false } = stretch
  return writeStretch({ ...stretch, isSplit, ...earlier(stretch.earlierReceipts) })
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

let layerCount = 0

export function readExecutedStretch(text: string, stretch: BlockStretch): ExecutedStretch {
  const { layers, transactions, ...executed } = readExecuted(new TextReader(text))
  return {
    ...executed,
    layers: layers.map((accounts) => ({ id: `revm-${++layerCount}`, accounts })),
    transactions: transactions.map((transaction, index) => ({
      ...transaction,
      raw: stretch.transactions[index] ?? '0x',
    })),
  }
}

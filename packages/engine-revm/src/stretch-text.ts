import type { BlockStretch, ExecutedStretch } from '@upfront/simulation'
import { readExecuted, writeStretch } from './border/records.js'
import { TextReader } from './border/text.js'

export function stretchText(stretch: BlockStretch): string {
  const { earlierReceipts } = stretch
  return writeStretch({
    ...stretch,
    earlierReceipts: earlierReceipts.map(({ encoded }) => encoded),
    earlierGasUsed: earlierReceipts.at(-1)?.cumulativeGasUsed ?? 0n,
    earlierBlobGasUsed: earlierReceipts.reduce((sum, { blobGasUsed = 0n }) => sum + blobGasUsed, 0n),
  })
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

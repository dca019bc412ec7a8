import type { BlockExecution, BlockExecutionResult, BlockToCarry, ExecutedReceipt } from '@upfront/simulation'
import { readExecuted, writeBlockExecution, writeSealedBlock } from './border/records.js'
import { TextReader } from './border/text.js'

export function executionText(execution: BlockExecution): string {
  const { isSplit = false } = execution
  return writeBlockExecution({ ...execution, isSplit, ...earlier(execution.earlierReceipts) })
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

export function readBlockExecutionResult(text: string, execution: BlockExecution): BlockExecutionResult {
  const { layers, transactions, ...executed } = readExecuted(new TextReader(text))
  return {
    ...executed,
    layers: layers.map((accounts) => ({ id: `revm-${++layerCount}`, accounts })),
    transactions: transactions.map((transaction, index) => ({
      ...transaction,
      raw: execution.transactions[index] ?? '0x',
    })),
  }
}

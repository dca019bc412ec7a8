import { type BlockHeader, blockHeaderToRpc, type Hash, type Hex, toQuantity } from '@upfront/protocol'
import type { Answer, ExecutedLog, Failure, Touched } from '../src/engine/engine.js'

/** A call's result, as the script gives it. */
export interface ScriptedCall {
  succeeded: boolean
  gasUsed: bigint
  maxUsedGas: bigint
  /** Empty on a halt; the revert data on a revert. */
  returnData: Hex
  logs: (ExecutedLog & { index: number })[]
  failure?: Failure
}

export interface ScriptedBlock {
  header: BlockHeader
  size: bigint
  transactions: { hash: Hash }[]
  calls: ScriptedCall[]
}

/** Marks the place of an error: strings in an answer contain no quotes, so nothing else matches. */
const GAP = ',"error":""'

/** An engine's answer, without error messages. */
export function answerOf(blocks: readonly ScriptedBlock[], touched: Touched = { accounts: 0, slots: 0 }): Answer {
  const calls = blocks.flatMap((block) => block.calls)
  return {
    pieces: JSON.stringify(blocks.map(presented)).split(GAP),
    failures: calls.flatMap(({ failure, returnData }) => (failure === undefined ? [] : [{ failure, returnData }])),
    gasUsed: blocks.reduce((sum, { header }) => sum + header.gasUsed, 0n),
    touched,
    touchedList: undefined,
    readList: undefined,
    records: [],
  }
}

function presented({ header, size, transactions, calls }: ScriptedBlock) {
  const fields = blockHeaderToRpc(header)
  const place = { blockNumber: fields.number, blockHash: fields.hash, blockTimestamp: fields.timestamp }
  return {
    ...fields,
    size: toQuantity(size),
    transactions: transactions.map(({ hash }) => hash),
    uncles: [],
    calls: calls.map((call, index) => ({
      returnData: call.succeeded ? call.returnData : '0x',
      logs: call.logs.map(({ index: logIndex, ...log }) => ({
        ...log,
        ...place,
        transactionHash: transactions[index]!.hash,
        transactionIndex: toQuantity(index),
        logIndex: toQuantity(logIndex),
        removed: false,
      })),
      gasUsed: toQuantity(call.gasUsed),
      maxUsedGas: toQuantity(call.maxUsedGas),
      status: call.succeeded ? '0x1' : '0x0',
      ...(call.failure !== undefined && { error: '' }),
    })),
  }
}

import {
  blockHeaderToRpc,
  type Hash,
  type Hex,
  type SimulatedBlock,
  type SimulatedCall,
  type SimulatedLog,
  toQuantity,
  type Withdrawal,
} from '@upfront/protocol'
import type { ExecutedBlock, ExecutedCall, IndexedLog } from '../engine/engine.js'
import type { PlannedBlock, SimulationPlan } from '../plan/simulation-plan.js'
import { presentTransaction } from './present-transaction.js'

/** What stands as a failed call's `error`: its words are the dialect's. */
export const ERROR_GAP = ''

/** Executed blocks as the JSON of an answer: one for each planned block, filled gaps included. */
export function presentBlocks(blocks: readonly ExecutedBlock[], plan: SimulationPlan): SimulatedBlock[] {
  return blocks.map((block, index) => presentBlock(block, plan.blocks[index], plan))
}

function presentBlock(
  block: ExecutedBlock,
  planned: PlannedBlock | undefined,
  { rules, returnFullTransactions }: SimulationPlan,
): SimulatedBlock {
  const { header, transactions } = block
  const fields = blockHeaderToRpc(header)
  const place = { blockNumber: fields.number, blockHash: fields.hash, blockTimestamp: fields.timestamp }
  // Not spread into a new object: with this many fields V8 makes it a dictionary, which is slow here and in JSON.stringify.
  const answer: SimulatedBlock = Object.assign(fields, {
    size: toQuantity(block.size),
    transactions: returnFullTransactions
      ? transactions.map((transaction, index) => presentTransaction(transaction, index, header, rules))
      : transactions.map(({ hash }) => hash),
    uncles: [],
    calls: block.calls.map((call, index) => presentCall(call, place, transactions[index]?.hash, index)),
  })
  if (header.withdrawalsRoot !== undefined) answer.withdrawals = (planned?.withdrawals ?? []).map(presentWithdrawal)
  return answer
}

interface BlockPlace {
  blockNumber: Hex
  blockHash: Hash
  blockTimestamp: Hex
}

function presentCall(
  call: ExecutedCall,
  place: BlockPlace,
  transactionHash: Hash | undefined,
  index: number,
): SimulatedCall {
  if (transactionHash === undefined) throw new Error(`call ${index} has no transaction`)
  const answer: SimulatedCall = {
    returnData: call.succeeded ? call.returnData : '0x',
    logs: call.logs.map((log) => presentLog(log, place, transactionHash, index)),
    gasUsed: toQuantity(call.gasUsed),
    maxUsedGas: toQuantity(call.maxUsedGas),
    status: call.succeeded ? '0x1' : '0x0',
  }
  if (call.failure !== undefined) answer.error = ERROR_GAP
  return answer
}

function presentLog(log: IndexedLog, place: BlockPlace, transactionHash: Hash, transactionIndex: number): SimulatedLog {
  return {
    address: log.address,
    topics: log.topics,
    data: log.data,
    blockNumber: place.blockNumber,
    transactionHash,
    transactionIndex: toQuantity(transactionIndex),
    blockHash: place.blockHash,
    blockTimestamp: place.blockTimestamp,
    logIndex: toQuantity(log.index),
    removed: false,
  }
}

function presentWithdrawal({ index, validatorIndex, address, amount }: Withdrawal) {
  return {
    index: toQuantity(index),
    validatorIndex: toQuantity(validatorIndex),
    address,
    amount: toQuantity(amount),
  }
}

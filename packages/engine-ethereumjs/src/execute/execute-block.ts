import type { BlockHeader, Hex } from '@upfront/protocol'
import {
  type ExecutedBlock,
  type ExecutedCall,
  type ExecutedLog,
  GAS_PER_BLOB,
  isForkActive,
  type PlannedBlock,
  type PlannedCall,
  type Probed,
  type SimulationPlan,
  SimulationRejected,
} from '@upfront/simulation'
import type { Precompiles } from '../evm/simulation-evm.js'
import { type Receipt, sealReceipt } from '../seal/receipt.js'
import { sealBlock } from '../seal/seal-block.js'
import { encodeTransaction, type FilledCall, transactionHash } from '../seal/transaction.js'
import { applyCall } from './apply-call.js'
import { type BlockContext, openBlock } from './block-context.js'
import { CallRejected } from './call-rejected.js'
import type { Machine } from './machine.js'
import { ask } from './probe.js'
import type { ReadyCall } from './ready-call.js'
import { beginRecord, endRecord } from './record-call.js'
import { applyStateOverrides } from './state-overrides.js'
import { collectRequests, runPreExecutionCalls, systemReads } from './system-calls.js'

const GWEI = 1_000_000_000n
const BLOB_TRANSACTION = 3
const MAX_UINT64 = (1n << 64n) - 1n

/** Gas that the calls of the whole request may still use. */
export interface GasBudget {
  left: bigint
}

/**
 * Executes and seals one block.
 * @throws SimulationRejected
 */
export async function executeBlock(
  machine: Machine,
  plan: SimulationPlan,
  index: number,
  parent: BlockHeader,
  budget: GasBudget,
): Promise<ExecutedBlock> {
  const block = plan.blocks[index]!
  const context = openBlock(plan, index, parent)
  const precompiles = machine.evm.activePrecompiles()
  rejecting(index, undefined, () => applyStateOverrides(block.stateOverrides, machine.world, precompiles))
  machine.world.finalise()
  machine.evm.usePrecompiles(precompiles)
  machine.evm.logs.begin(plan.traceTransfers)
  const prague = isForkActive(block.rules.fork, 'prague')
  const runsSystemCalls = prague && !block.isExecuted
  await preload(machine, block, context, prague)
  if (!block.isExecuted) await runPreExecutionCalls(machine, context, prague)

  const run = await runCalls(machine, plan, index, context, precompiles, budget)
  for (const { address, amount } of block.withdrawals) await machine.world.addBalance(address, amount * GWEI)
  machine.world.finalise()
  const requestsHash = runsSystemCalls
    ? await rejectingAsync(index, undefined, () =>
        collectRequests(machine, context, run.logs, plan.rules.depositContract),
      )
    : undefined
  const { header, size } = sealBlock(
    {
      ...context.header,
      gasUsed: run.gasUsed,
      ...(isForkActive(block.rules.fork, 'cancun') && { blobGasUsed: run.blobGasUsed }),
      ...(requestsHash && { requestsHash }),
    },
    {
      chainId: plan.rules.chainId,
      transactions: run.transactions,
      receipts: run.receipts,
      ...(isForkActive(block.rules.fork, 'shanghai') && { withdrawals: block.withdrawals }),
    },
  )
  return {
    header,
    size,
    calls: run.calls,
    transactions: run.transactions.map((filled) => ({
      ...filled,
      hash: transactionHash(encodeTransaction(filled, plan.rules.chainId)),
    })),
  }
}

interface CallsRun {
  transactions: FilledCall[]
  calls: ExecutedCall[]
  receipts: Receipt[]
  /** Of the calls that succeeded, transfer logs included. */
  logs: ExecutedLog[]
  gasUsed: bigint
  blobGasUsed: bigint
}

async function runCalls(
  machine: Machine,
  plan: SimulationPlan,
  index: number,
  context: BlockContext,
  precompiles: Precompiles,
  budget: GasBudget,
): Promise<CallsRun> {
  const run: CallsRun = { transactions: [], calls: [], receipts: [], logs: [], gasUsed: 0n, blobGasUsed: 0n }
  const { calls, isExecuted } = plan.blocks[index]!
  for (const [position, call] of calls.entries()) {
    await machine.slice.look()
    const ready = await rejectingAsync(index, position, () =>
      makeReady(machine, call, isExecuted ? MAX_UINT64 : context.header.gasLimit - run.gasUsed, budget),
    )
    run.transactions.push({ call, nonce: ready.nonce, gas: ready.gas })
    const probes = plan.probes?.filter((probe) => probe.block === index && probe.call === position) ?? []
    const before = await ask(machine, context, probes)
    const recorded = await beginRecord(machine, context, plan, ready)
    const { receiptLogs, ...executed } = await rejectingAsync(index, position, () =>
      machine.touched.during(precompiles, () => applyCall(machine, context, plan, ready)),
    )
    const finalise = () => machine.world.finalise(machine.destroyed)
    if (recorded) executed.record = await endRecord(machine, recorded, ready, executed.gasUsed, finalise)
    else finalise()
    machine.destroyed.clear()
    if (executed.record) {
      const after = await ask(machine, context, probes)
      executed.record.probed = paired(before.answers, after.answers)
      executed.record.probeGas = before.gasUsed + after.gasUsed
    }
    budget.left -= executed.gasUsed
    run.gasUsed += executed.gasUsed
    run.calls.push(executed)
    for (const log of executed.logs) run.logs.push(log)
    run.receipts.push(sealReceipt(call.type, executed.succeeded, run.gasUsed, receiptLogs))
    if (call.type === BLOB_TRANSACTION) run.blobGasUsed += BigInt(call.blobVersionedHashes?.length ?? 0) * GAS_PER_BLOB
  }
  return run
}

function paired(before: readonly (Hex | undefined)[], after: readonly (Hex | undefined)[]): Probed[] {
  return before.map((answer, index) => ({
    ...(answer !== undefined && { before: answer }),
    ...(after[index] !== undefined && { after: after[index] }),
  }))
}

async function makeReady(
  { world }: Machine,
  call: PlannedCall,
  blockGas: bigint,
  budget: GasBudget,
): Promise<ReadyCall> {
  const nonce = call.nonce ?? (await world.account(call.from)).nonce
  const wanted = call.gas ?? blockGas
  if (wanted > blockGas) {
    throw new CallRejected({ kind: 'blockGasLimit', left: blockGas, asked: wanted })
  }
  const gasCapped = budget.left < wanted
  return { call, nonce, gas: gasCapped ? budget.left : wanted, gasCapped }
}

/** Reads what the block needs in any case, in one batch. */
async function preload({ world }: Machine, block: PlannedBlock, context: BlockContext, prague: boolean): Promise<void> {
  const system = systemReads(context, prague)
  const accounts = block.calls.flatMap(({ from, to, accessList }) => [
    from,
    ...(to === null ? [] : [to]),
    ...accessList.map(({ address }) => address),
  ])
  const slots = block.calls.flatMap(({ accessList }) =>
    accessList.flatMap(({ address, storageKeys }) => storageKeys.map((slot) => [address, slot] as const)),
  )
  await world.preload([...system.accounts, ...accounts], [...system.slots, ...slots])
}

function rejecting<T>(block: number, call: number | undefined, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw located(error, block, call)
  }
}

async function rejectingAsync<T>(block: number, call: number | undefined, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw located(error, block, call)
  }
}

function located(error: unknown, block: number, call: number | undefined): unknown {
  return error instanceof CallRejected ? new SimulationRejected(error.rejection, block, call) : error
}

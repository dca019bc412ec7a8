import { bigIntToUnpaddedBytes, generateAddress } from '@ethereumjs/util'
import type { Address } from '@upfront/protocol'
import {
  type BlockStretch,
  blobBaseFee,
  type ExecutedReceipt,
  type ExecutedStretch,
  GAS_PER_BLOB,
  isForkActive,
  orderedTrieRoot,
  presentRejection,
  StretchRejected,
} from '@upfront/simulation'
import { SimulationEvm } from '../evm/simulation-evm.js'
import type { TimeSlice } from '../evm/time-slice.js'
import { applyCall } from '../execute/apply-call.js'
import { type BlockContext, evmBlock } from '../execute/block-context.js'
import { effectiveFees } from '../execute/call-fees.js'
import { CallRejected } from '../execute/call-rejected.js'
import type { Machine } from '../execute/machine.js'
import { runPreExecutionCalls, systemReads } from '../execute/system-calls.js'
import { TouchedState } from '../execute/touched.js'
import { logsBloom, mergeBlooms } from '../seal/bloom.js'
import { sealReceipt } from '../seal/receipt.js'
import { AccessJournal } from '../state/access-journal.js'
import { delegationTarget } from '../state/account-record.js'
import { bytesOf, hexOf } from '../state/bytes.js'
import { type ReadState, WorldState } from '../state/world-state.js'
import { readSignedTransaction, type SignedTransaction } from './signed-transaction.js'

/** Its layer gets an id on the engine's side. */
export type NamelessStretch = Omit<ExecutedStretch, 'layer'> & { changes: ExecutedStretch['layer']['accounts'] }

/**
 * Executes the signed transactions of a stretch in order.
 * @param validation whether they must be valid; without it they run only for the state that they read
 * @throws StretchRejected; what `read` rejected with; what the slice was cancelled with
 */
export async function executeStretch(
  stretch: BlockStretch,
  validation: boolean,
  read: ReadState,
  slice: TimeSlice,
): Promise<NamelessStretch> {
  const { block, rules, opening, earlierReceipts } = stretch
  const machine = openMachine(stretch, read, slice)
  const context = contextOf(stretch)
  const prague = isForkActive(block.rules.fork, 'prague')
  const signed = stretch.transactions.map((raw, index) =>
    rejecting(index, () => readSignedTransaction(raw, rules.chainId, block.rules.fork)),
  )
  const system = opening ? systemReads(context, prague) : { accounts: [], slots: [] }
  const parties = signed.flatMap(({ call: { from, to } }) => (to === null ? [from] : [from, to]))
  await machine.world.preload([...system.accounts, ...parties, block.feeRecipient], system.slots)
  if (opening) await runPreExecutionCalls(machine, context, prague)

  const receipts: ExecutedReceipt[] = []
  let gasUsed = earlierReceipts.at(-1)?.cumulativeGasUsed ?? 0n
  let blobGasUsed = earlierReceipts.reduce((sum, receipt) => sum + (receipt.blobGasUsed ?? 0n), 0n)
  for (const [index, transaction] of signed.entries()) {
    await slice.look()
    try {
      if (validation) await checkInclusion(machine, stretch, transaction, index, { gasUsed, blobGasUsed })
      const receipt = await runTransaction(machine, context, stretch, validation, transaction, gasUsed)
      receipts.push(receipt)
      gasUsed = receipt.cumulativeGasUsed
      blobGasUsed += receipt.blobGasUsed ?? 0n
    } catch (error) {
      if (!(error instanceof CallRejected)) throw error
      throw new StretchRejected(presentRejection(error.rejection).message, index)
    }
  }
  const all = [...earlierReceipts, ...receipts]
  return {
    changes: machine.world.changes(),
    transactions: signed.map(({ hash, raw, nonce, call: { from, to } }) => ({ hash, raw, nonce, from, to })),
    receipts,
    gasUsed,
    blobGasUsed,
    receiptsRoot: orderedTrieRoot(all.map(({ encoded }) => bytesOf(encoded))),
    logsBloom: hexOf(mergeBlooms(all.map(({ logs }) => logsBloom(logs)))),
  }
}

async function runTransaction(
  machine: Machine,
  context: BlockContext,
  { rules }: BlockStretch,
  validation: boolean,
  { call, gas, nonce }: SignedTransaction,
  gasBefore: bigint,
): Promise<ExecutedReceipt> {
  const ready = { call, gas, nonce, gasCapped: false }
  const { succeeded, gasUsed, receiptLogs } = await applyCall(machine, context, { rules, validation }, ready)
  machine.world.finalise(machine.destroyed)
  machine.destroyed.clear()
  const cumulativeGasUsed = gasBefore + gasUsed
  const blobs = call.blobVersionedHashes
  return {
    type: call.type,
    succeeded,
    cumulativeGasUsed,
    gasUsed,
    effectiveGasPrice: effectiveFees(call, context.baseFee).gasPrice,
    logs: receiptLogs,
    contractAddress: call.to === null ? contractAddress(call.from, nonce) : null,
    ...(blobs && { blobGasUsed: BigInt(blobs.length) * GAS_PER_BLOB }),
    encoded: hexOf(sealReceipt(call.type, succeeded, cumulativeGasUsed, receiptLogs).encoded),
  }
}

/** Checks that blocks make and simulations don't: the block's gas and blobs, and EIP-3607. */
async function checkInclusion(
  { world }: Machine,
  { block: { gasLimit, rules } }: BlockStretch,
  { call, gas }: SignedTransaction,
  index: number,
  used: { gasUsed: bigint; blobGasUsed: bigint },
): Promise<void> {
  const refuse = (message: string) => new StretchRejected(message, index)
  if (gas > gasLimit - used.gasUsed) throw refuse('gas limit reached')
  const blobGas = BigInt(call.blobVersionedHashes?.length ?? 0) * GAS_PER_BLOB
  if (blobGas > 0n && used.blobGasUsed + blobGas > BigInt(rules.blob?.max ?? 0) * GAS_PER_BLOB) {
    throw refuse('blob gas limit reached')
  }
  const { code } = await world.account(call.from)
  if (code.length > 0 && !delegationTarget(code)) throw refuse(`sender not an eoa: address ${call.from}`)
}

function openMachine({ block, rules }: BlockStretch, read: ReadState, slice: TimeSlice): Machine {
  const world = new WorldState(read)
  const touched = new TouchedState()
  const journal = new AccessJournal(world)
  const evm = new SimulationEvm(rules.chainId, block.rules.fork)
  evm.begin(world, journal, touched, slice, async (number) => {
    if (number === block.number - 1n) return bytesOf(block.parentHash)
    const [hash] = await read([{ kind: 'blockHash', number }])
    return bytesOf(typeof hash === 'string' ? hash : '0x')
  })
  evm.usePrecompiles(evm.activePrecompiles())
  evm.logs.begin(false)
  return { evm, world, journal, touched, slice, destroyed: new Set<Address>(), recordBytes: 0 }
}

function contextOf({ block }: BlockStretch): BlockContext {
  const { rules, feeRecipient, prevRandao, baseFeePerGas, excessBlobGas = 0n, parentBeaconBlockRoot } = block
  const blobFee = rules.blob ? blobBaseFee(excessBlobGas, rules.blob.baseFeeUpdateFraction) : 0n
  const { number, timestamp, gasLimit, parentHash, extraData } = block
  return {
    header: {
      parentHash,
      miner: feeRecipient,
      number,
      gasLimit,
      timestamp,
      extraData,
      mixHash: prevRandao,
      baseFeePerGas,
      ...(parentBeaconBlockRoot && { parentBeaconBlockRoot }),
    },
    baseFee: baseFeePerGas,
    blobBaseFee: blobFee,
    evmBlock: evmBlock(block, baseFeePerGas, blobFee),
  }
}

function contractAddress(from: Address, nonce: bigint): Address {
  return hexOf(generateAddress(bytesOf(from), bigIntToUnpaddedBytes(nonce)))
}

function rejecting<T>(transaction: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw new StretchRejected(error instanceof Error ? error.message : String(error), transaction)
  }
}

import type { BlockHeader } from '@upfront/protocol'
import { type BlobParameters, type PlannedBlock, type SimulationPlan } from '@upfront/simulation'
import { createAddressFromString } from '@ethereumjs/util'
import type { SimulationEvm } from '../evm/simulation-evm.js'
import type { OpenHeader } from '../seal/seal-block.js'
import { bytesOf } from '../state/bytes.js'
import { blobBaseFee, nextBaseFee, nextExcessBlobGas } from './fees.js'
import { isActive } from './fork.js'

type EvmBlock = NonNullable<Parameters<SimulationEvm['runCall']>[0]['block']>

/** What the calls of one block see of it. */
export interface BlockContext {
  /** The header as far as it is known before execution. */
  header: Omit<OpenHeader, 'gasUsed' | 'blobGasUsed' | 'requestsHash'>
  baseFee: bigint
  blobBaseFee: bigint
  evmBlock: EvmBlock
}

export function openBlock(block: PlannedBlock, parent: BlockHeader, plan: SimulationPlan): BlockContext {
  const { rules } = block
  const baseFee = block.baseFeePerGas ?? (plan.validation ? nextBaseFee(parent) : 0n)
  const cancun = isActive('cancun', rules.fork)
  const blob = cancun ? blobParameters(block) : undefined
  const excessBlobGas = blob && (parent.excessBlobGas === undefined ? 0n : nextExcessBlobGas(parent, rules, blob))
  const blobFee = block.blobBaseFee ?? (blob ? blobBaseFee(excessBlobGas ?? 0n, blob) : 0n)
  return {
    header: {
      parentHash: parent.hash,
      miner: block.feeRecipient,
      number: block.number,
      gasLimit: block.gasLimit,
      timestamp: block.timestamp,
      extraData: block.extraData,
      mixHash: block.prevRandao,
      baseFeePerGas: baseFee,
      ...(excessBlobGas !== undefined && { excessBlobGas }),
      ...(cancun && { parentBeaconBlockRoot: block.parentBeaconBlockRoot ?? `0x${'0'.repeat(64)}` }),
    },
    baseFee,
    blobBaseFee: blobFee,
    evmBlock: {
      header: {
        number: block.number,
        coinbase: createAddressFromString(block.feeRecipient),
        timestamp: block.timestamp,
        difficulty: 0n,
        prevRandao: bytesOf(block.prevRandao),
        gasLimit: block.gasLimit,
        baseFeePerGas: baseFee,
        getBlobGasPrice: () => blobFee,
      },
    },
  }
}

function blobParameters({ number, rules }: PlannedBlock): BlobParameters {
  if (!rules.blob) throw new Error(`block ${number} has no blob parameters though its fork is ${rules.fork}`)
  return rules.blob
}

import { createAddressFromString } from '@ethereumjs/util'
import { type BlockHeader, ZERO_HASH } from '@upfront/protocol'
import {
  type BlobParameters,
  blobBaseFee,
  isForkActive,
  nextBaseFee,
  nextExcessBlobGas,
  type PlannedBlock,
  type SimulationPlan,
} from '@upfront/simulation'
import type { SimulationEvm } from '../evm/simulation-evm.js'
import type { OpenHeader } from '../seal/seal-block.js'
import { bytesOf } from '../state/bytes.js'

type EvmBlock = NonNullable<Parameters<SimulationEvm['runCall']>[0]['block']>

/** What the calls of one block see of it. */
export interface BlockContext {
  /** The header as far as it is known before execution. */
  header: Omit<OpenHeader, 'gasUsed' | 'blobGasUsed' | 'requestsHash'>
  baseFee: bigint
  blobBaseFee: bigint
  evmBlock: EvmBlock
}

export function openBlock(plan: SimulationPlan, index: number, parent: BlockHeader): BlockContext {
  const block = plan.blocks[index]!
  const { rules } = block
  const parentRules = plan.blocks[index - 1]?.rules ?? plan.baseRules
  const derivedFee = plan.validation ? nextBaseFee(parent, parentRules, block.baseFeeParameters) : 0n
  const baseFee = block.baseFeePerGas ?? derivedFee
  const cancun = isForkActive(rules.fork, 'cancun')
  const excessBlobGas = cancun ? nextExcessBlobGas(parent, rules) : undefined
  const blobFee =
    block.blobBaseFee ?? (cancun ? blobBaseFee(excessBlobGas ?? 0n, blobParameters(block).baseFeeUpdateFraction) : 0n)
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
      ...(cancun && { parentBeaconBlockRoot: block.parentBeaconBlockRoot ?? ZERO_HASH }),
    },
    baseFee,
    blobBaseFee: blobFee,
    evmBlock: evmBlock(block, baseFee, blobFee),
  }
}

/** What opcodes see of a block. */
export function evmBlock(
  block: Pick<PlannedBlock, 'number' | 'feeRecipient' | 'timestamp' | 'prevRandao' | 'gasLimit'>,
  baseFeePerGas: bigint,
  blobFee: bigint,
): EvmBlock {
  const { number, feeRecipient, timestamp, prevRandao, gasLimit } = block
  return {
    header: {
      number,
      coinbase: createAddressFromString(feeRecipient),
      timestamp,
      difficulty: 0n,
      prevRandao: bytesOf(prevRandao),
      gasLimit,
      baseFeePerGas,
      getBlobGasPrice: () => blobFee,
    },
  }
}

function blobParameters({ number, rules }: PlannedBlock): BlobParameters {
  if (!rules.blob) throw new Error(`block ${number} has no blob parameters though its fork is ${rules.fork}`)
  return rules.blob
}

import type { BlockHeader } from '@upfront/protocol'
import { type BlockRules, type ChainRules, OP_FORKS, type OpFork } from '../plan/chain-rules.js'
import { DEFAULT_OP_BASE_FEE } from './chain-rules.js'

/** EIP-1559 parameters. */
export interface BaseFeeParameters {
  elasticity: bigint
  denominator: bigint
  /** Minimum base fee in wei; 0 on chains without one (OP-stack chains have it from Jovian on). */
  minimum: bigint
}

const ETHEREUM: BaseFeeParameters = { elasticity: 2n, denominator: 8n, minimum: 0n }
const INITIAL_BASE_FEE = 1_000_000_000n

/** Whether OP-stack rules include `fork`. */
export function isOpForkActive(rules: BlockRules | undefined, fork: OpFork): boolean {
  return rules?.opFork !== undefined && OP_FORKS.indexOf(rules.opFork) >= OP_FORKS.indexOf(fork)
}

/**
 * Parameters for a block simulated on `base`. On OP-stack chains from Holocene on they are in the parent's extraData
 * (https://specs.optimism.io/protocol/holocene/exec-engine.html, jovian/exec-engine.html); simulated blocks have none, so all of them use
 * those of `base`.
 * @param rules of the block whose base fee is computed
 */
export function baseFeeParameters(
  chain: ChainRules,
  base: BlockHeader,
  baseRules: BlockRules,
  rules: BlockRules,
): BaseFeeParameters {
  if (chain.stack === 'ethereum') return ETHEREUM
  const { elasticity, denominator, denominatorCanyon } = chain.opBaseFee ?? DEFAULT_OP_BASE_FEE
  const configured = {
    elasticity,
    denominator: isOpForkActive(rules, 'canyon') ? denominatorCanyon : denominator,
    minimum: 0n,
  }
  return isOpForkActive(baseRules, 'holocene') ? (fromExtraData(base.extraData) ?? configured) : configured
}

/** The next base fee in wei per gas by EIP-1559; on OP-stack chains from Jovian on, by the greater of gas used and DA footprint. */
export function nextBaseFee(
  parent: Pick<BlockHeader, 'baseFeePerGas' | 'gasLimit' | 'gasUsed' | 'blobGasUsed'>,
  parentRules: BlockRules,
  parameters: BaseFeeParameters,
): bigint {
  const { baseFeePerGas } = parent
  if (baseFeePerGas === undefined) return INITIAL_BASE_FEE
  const target = parent.gasLimit / parameters.elasticity
  const footprint = isOpForkActive(parentRules, 'jovian') ? (parent.blobGasUsed ?? 0n) : 0n
  const used = footprint > parent.gasUsed ? footprint : parent.gasUsed
  const next =
    target === 0n ? baseFeePerGas : baseFeePerGas + change(baseFeePerGas, used - target, target, parameters.denominator)
  return next < parameters.minimum ? parameters.minimum : next
}

function change(fee: bigint, aboveTarget: bigint, target: bigint, denominator: bigint): bigint {
  if (aboveTarget === 0n) return 0n
  if (aboveTarget < 0n) return -((fee * -aboveTarget) / target / denominator)
  const rise = (fee * aboveTarget) / target / denominator
  return rise === 0n ? 1n : rise
}

/** Holocene: version 0, denominator u32, elasticity u32. Jovian: version 1, the same and a minimum base fee u64. */
function fromExtraData(extraData: string): BaseFeeParameters | undefined {
  const holocene = extraData.length === 20 && extraData.startsWith('0x00')
  const jovian = extraData.length === 36 && extraData.startsWith('0x01')
  if (!holocene && !jovian) return undefined
  const denominator = BigInt(`0x${extraData.slice(4, 12)}`)
  const elasticity = BigInt(`0x${extraData.slice(12, 20)}`)
  if (denominator === 0n || elasticity === 0n) return undefined
  return { elasticity, denominator, minimum: jovian ? BigInt(`0x${extraData.slice(20, 36)}`) : 0n }
}

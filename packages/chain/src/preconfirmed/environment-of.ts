import type { BlockHeader } from '@upfront/protocol'
import { type BlockEnvironment, type ChainRules, isForkActive, nextExcessBlobGas, rulesAt } from '@upfront/simulation'
import type { BlockPrefix } from './flashblock-store.js'

/** The environment of a pre-confirmed block on its parent; undefined where no rules are known for its time. */
export function environmentOf(
  { base, blockNumber }: BlockPrefix,
  parent: BlockHeader,
  chain: ChainRules,
): BlockEnvironment | undefined {
  const rules = rulesAt(chain, blockNumber, base.timestamp)
  if (!rules) return undefined
  const environment: BlockEnvironment = {
    number: blockNumber,
    timestamp: base.timestamp,
    parentHash: base.parentHash,
    gasLimit: base.gasLimit,
    feeRecipient: base.feeRecipient,
    prevRandao: base.prevRandao,
    baseFeePerGas: base.baseFeePerGas,
    extraData: base.extraData,
    rules,
  }
  if (!isForkActive(rules.fork, 'cancun')) return environment
  return {
    ...environment,
    parentBeaconBlockRoot: base.parentBeaconBlockRoot,
    excessBlobGas: nextExcessBlobGas(parent, rules),
  }
}

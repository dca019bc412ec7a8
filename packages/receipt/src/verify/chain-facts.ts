import { decodeObject } from '@upfront/protocol'
import { type ChainRules, chainRulesFromEthConfig, chainRulesFromGenesis, knownChainRules } from '@upfront/simulation'
import { jsonHash } from '../json-hash.js'
import { bigintsToJson } from '../witness/bigint-json.js'
import type { DecodedWitness } from '../witness/witness.js'
import { assertEqual, Unchecked } from './check.js'
import type { PaidExchange } from './paid-exchange.js'

/**
 * The chain's rules known to the buyer: built in for known chain ids, otherwise from the document that the buyer kept. Undefined if there
 * is neither.
 * @throws Error if the document is of another chain, or does not decode
 */
export function rulesKnown(chainId: bigint, { chain }: Pick<PaidExchange, 'chain'>): ChainRules | undefined {
  const known = knownChainRules(chainId)
  if (known !== undefined || chain === undefined) return known
  const document = decodeObject(chain, 'chain')
  const rules = document.current === undefined ? chainRulesFromGenesis(chain) : chainRulesFromEthConfig(chain)
  assertEqual(rules.chainId.toString(), chainId.toString(), 'chain: the chain id')
  return rules
}

/**
 * Checks that the seller did not choose the terms of execution: the chain's rules, its block time, and the published gas cap.
 * @param known see `rulesKnown`
 */
export function rulesOf(
  { rules, limits, daFootprintScalar }: DecodedWitness,
  known: ChainRules | undefined,
  { seller }: Pick<PaidExchange, 'seller'>,
): string {
  if (known === undefined)
    throw new Unchecked(
      `chain ${rules.chainId} is unknown, and the file has no "chain" (its genesis file, or a node's eth_config): forks and gas costs are taken from the seller`,
    )
  const published = seller === undefined ? {} : decodeObject(seller, 'seller')
  const { blockTime } = rules.schedule
  const isChains = jsonHash(bigintsToJson(rules.schedule)) === jsonHash(bigintsToJson(known.schedule))
  const isPublished = published.blockTime === blockTime.toString() && rules.schedule.subsecond === undefined
  if (!isChains && !isPublished)
    throw new Unchecked(
      `the seller's block time is ${blockTime} s, the chain's ${known.schedule.blockTime} s: the times of the simulated blocks are taken from the seller`,
    )
  if (daFootprintScalar !== undefined)
    throw new Unchecked(
      'no document proves the DA footprint scalar: blobGasUsed of the simulated blocks is not checked',
    )
  const cap = published.gasCap
  if (cap === undefined)
    throw new Unchecked(`no document of the seller names its gas cap: that calls may use ${limits.gas} is not checked`)
  if (cap !== limits.gas.toString())
    throw new Unchecked(
      `the seller publishes a gas cap of ${cap}; that it was ${limits.gas} for this answer is not checked`,
    )
  return `of chain ${known.chainId}, ${known.source === 'known-chain' ? 'known by its id' : 'by the file'}; at most ${limits.gas} gas`
}

import { decodeObject } from '@upfront/protocol'
import { type ChainRules, chainRulesFromEthConfig, chainRulesFromGenesis, knownChainRules } from '@upfront/simulation'
import { jsonHash } from '../json-hash.js'
import { bigintsToJson } from '../witness/bigint-json.js'
import type { DecodedWitness } from '../witness/witness.js'
import { demandEqual, Unchecked } from './check.js'
import type { PaidExchange } from './paid-exchange.js'

/**
 * The rules of a chain as the buyer knows them: ours where we know the chain by its id, else those of the document that the buyer
 * kept. Undefined where there is neither.
 * @throws Error where the document is of another chain, or can't be read
 */
export function rulesKnown(chainId: bigint, { chain }: Pick<PaidExchange, 'chain'>): ChainRules | undefined {
  const known = knownChainRules(chainId)
  if (known !== undefined || chain === undefined) return known
  const document = decodeObject(chain, 'chain')
  const rules = document.current === undefined ? chainRulesFromGenesis(chain) : chainRulesFromEthConfig(chain)
  demandEqual(rules.chainId.toString(), chainId.toString(), 'chain: the chain id')
  return rules
}

/**
 * That what the seller executed by is not of its own choice: the chain's rules, its block time, and the gas that a call may take, as
 * the seller publishes it.
 * @param known see `rulesKnown`
 */
export function rulesOf(
  { rules, limits, daFootprintScalar }: DecodedWitness,
  known: ChainRules | undefined,
  { seller }: Pick<PaidExchange, 'seller'>,
): string {
  if (known === undefined) {
    throw new Unchecked(
      `chain ${rules.chainId} is not known here, and the file has no "chain" (its genesis file, or a node's eth_config): forks and gas costs are the seller's word`,
    )
  }
  const published = seller === undefined ? {} : decodeObject(seller, 'seller')
  const { blockTime } = rules.schedule
  const isChains = jsonHash(bigintsToJson(rules.schedule)) === jsonHash(bigintsToJson(known.schedule))
  const isPublished = published.blockTime === blockTime.toString() && rules.schedule.subsecond === undefined
  if (!isChains && !isPublished)
    throw new Unchecked(
      `the seller's block time is ${blockTime} s, the chain's ${known.schedule.blockTime} s: when the simulated blocks are is its word`,
    )
  if (daFootprintScalar !== undefined)
    throw new Unchecked('no document proves the DA footprint scalar: blobGasUsed of the simulated blocks is open')
  const cap = published.gasCap
  if (cap === undefined)
    throw new Unchecked(`no document of the seller names its gas cap: that calls may take ${limits.gas} is its word`)
  if (cap !== limits.gas.toString())
    throw new Unchecked(
      `the seller publishes a gas cap of ${cap}; that it was ${limits.gas} for this answer is its word`,
    )
  return `of chain ${known.chainId}, ${known.source === 'known-chain' ? 'known by its id' : 'by the file'}; at most ${limits.gas} gas`
}

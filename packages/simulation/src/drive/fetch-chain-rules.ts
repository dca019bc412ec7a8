import type { CallLimits, CallOutcome, UpstreamCall, UpstreamClient } from '@upfront/node'
import { decodeQuantity, UpstreamFault, unwrapOutcome } from '@upfront/node'
import { type BlockHeader, DecodeError } from '@upfront/protocol'
import { headerFromRpc } from '../block/block-from-rpc.js'
import type { ChainRules } from '../plan/chain-rules.js'
import { chainRulesFromEthConfig, withOpEthConfig } from '../plan/chain-rules-from-eth-config.js'
import { chainRulesFromGenesis } from '../plan/chain-rules-from-genesis.js'
import { inferChainRules, OSAKA_PROBE, OSAKA_PROBE_ANSWER } from '../plan/infer-chain-rules.js'
import { knownChainRules } from '../plan/known-chain-rules.js'
import { rulesAt } from '../plan/rules-at.js'

export interface ChainRulesOptions {
  /** The parsed genesis file or bare chain configuration. If given, it is the only source. */
  genesis?: unknown
  /** Seconds between blocks, if different from the chain's default. */
  blockTime?: bigint
}

/** The genesis file's chain id differs from the node's. */
export class ChainMismatch extends Error {
  override readonly name = 'ChainMismatch'
}

/**
 * A chain's rules from the first available source: the genesis file, the built-in configuration for the chain id, the node's
 * `debug_chainConfig`, its `eth_config` (EIP-7910; lacks forks before the current one), its head header. `source` names it.
 * @throws ChainMismatch; DecodeError if the genesis file is malformed; UpstreamError
 */
export async function fetchChainRules(
  client: UpstreamClient,
  options: ChainRulesOptions = {},
  limits: CallLimits = {},
): Promise<ChainRules> {
  const rules = await firstOf(client, options, limits)
  return options.blockTime === undefined ? rules : { ...rules, schedule: { blockTime: options.blockTime } }
}

async function firstOf(client: UpstreamClient, options: ChainRulesOptions, limits: CallLimits): Promise<ChainRules> {
  const [chainId, head, ethConfig, chainConfig, probe] = (await client.batch<unknown>(
    [
      { method: 'eth_chainId', params: [], decode: (result) => decodeQuantity(result), maxBytes: 256 },
      { method: 'eth_getBlockByNumber', params: ['latest', false], decode: headerFromRpc, maxBytes: 8 << 20 },
      optional('eth_config', [], (result) => result),
      optional('debug_chainConfig', [], (result) => chainRulesFromGenesis(result, 'debug_chainConfig')),
      optional('eth_call', [{ data: OSAKA_PROBE }, 'latest'], (result) => result === OSAKA_PROBE_ANSWER),
    ],
    limits,
  )) as [
    CallOutcome<bigint>,
    CallOutcome<BlockHeader>,
    CallOutcome<unknown>,
    CallOutcome<ChainRules>,
    CallOutcome<boolean>,
  ]
  const id = unwrapOutcome(chainId)
  if (options.genesis !== undefined) return ofGenesis(options.genesis, id)
  const known = knownChainRules(id)
  if (known !== undefined) return known
  const header = unwrapOutcome(head)
  const inferred = inferChainRules(header, id, 'value' in probe && probe.value)
  const fits = (rules: ChainRules | undefined): rules is ChainRules =>
    rules?.chainId === id &&
    rules.stack === inferred.stack &&
    rulesAt(rules, header.number, header.timestamp) !== undefined
  const told = 'value' in ethConfig ? ethConfig.value : undefined
  const byChainConfig = 'value' in chainConfig ? chainConfig.value : undefined
  if (fits(byChainConfig)) return byChainConfig
  const byEthConfig =
    inferred.stack === 'ethereum'
      ? readable(() => chainRulesFromEthConfig(told, header.blockAccessListHash !== undefined))
      : undefined
  if (fits(byEthConfig)) return byEthConfig
  return (inferred.stack === 'optimism' && readable(() => withOpEthConfig(inferred, told))) || inferred
}

/** Undefined if the node's answer can't be decoded. */
function readable(decode: () => ChainRules): ChainRules | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

function ofGenesis(genesis: unknown, upstreamId: bigint): ChainRules {
  const rules = chainRulesFromGenesis(genesis)
  if (rules.chainId === upstreamId) return rules
  throw new ChainMismatch(`the genesis file is of chain ${rules.chainId}, the upstream serves chain ${upstreamId}`)
}

/** Calls a method that most nodes lack. A malformed answer counts as none. */
function optional<T>(method: string, params: readonly unknown[], decode: (result: unknown) => T): UpstreamCall<T> {
  return {
    method,
    params,
    maxBytes: 1 << 20,
    attempts: 3,
    retriesError: () => false,
    decode: (result) => {
      try {
        return decode(result)
      } catch (error) {
        if (error instanceof DecodeError) throw new UpstreamFault('malformed', error.message)
        throw error
      }
    },
  }
}

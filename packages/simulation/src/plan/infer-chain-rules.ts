import type { BlockHeader } from '@upfront/protocol'
import {
  type BlockRules,
  type ChainRules,
  DEFAULT_BLOB_PARAMETERS,
  DEFAULT_BLOCK_TIME,
  DEFAULT_OP_BASE_FEE,
  OP_FORKS,
  type OpFork,
} from './chain-rules.js'
import { ethereumForkOf, isForkActive, rulesAt, rulesOfHeader } from './rules-at.js'

/** Fee recipient of every OP-stack chain. */
const SEQUENCER_FEE_VAULT = '0x4200000000000000000000000000000000000011'

/** Init code that returns CLZ(1), for `eth_call`: 255 if Osaka is active, else an invalid opcode. */
export const OSAKA_PROBE = '0x60011e60005260206000f3'
export const OSAKA_PROBE_ANSWER = `0x${'ff'.padStart(64, '0')}`

/** The fork of each stack that leaves no trace in a header, and the one before it. `OSAKA_PROBE` tells them apart. */
const HIDDEN = {
  ethereum: { fork: 'osaka', before: 'prague' },
  optimism: { fork: 'karst', before: 'jovian' },
} as const

const CAVEAT =
  'the rules are inferred from the head: changes that do not show in a header, such as blob schedules, are unknown'

/**
 * The oldest rules that fit a head header, for unknown chains. An OP-stack chain is recognized by its fee recipient.
 * @param runsOsaka whether the node's EVM answered `OSAKA_PROBE` at its head
 */
export function inferChainRules(header: BlockHeader, chainId: bigint, runsOsaka = false): ChainRules {
  const shared = { chainId, source: 'inferred', isUncertain: true, caveats: [CAVEAT] } as const
  if (header.miner === SEQUENCER_FEE_VAULT) {
    const fork = opForkOf(header)
    return {
      ...shared,
      caveats: [...shared.caveats],
      stack: 'optimism',
      forks: [{ fork: runsOsaka && fork === HIDDEN.optimism.before ? HIDDEN.optimism.fork : fork, block: 0n }],
      blobSchedule: [],
      schedule: { blockTime: DEFAULT_BLOCK_TIME.optimism },
      opBaseFee: DEFAULT_OP_BASE_FEE,
    }
  }
  const { fork } = rulesOfHeader(header)
  const parameters = DEFAULT_BLOB_PARAMETERS[fork]
  return {
    ...shared,
    caveats: [...shared.caveats],
    stack: 'ethereum',
    forks: [{ fork: runsOsaka && fork === HIDDEN.ethereum.before ? HIDDEN.ethereum.fork : fork, block: 0n }],
    blobSchedule: parameters === undefined ? [] : [{ timestamp: 0n, parameters }],
    schedule: { blockTime: DEFAULT_BLOCK_TIME.ethereum },
  }
}

/**
 * Rules of a block older than all known forks (`eth_config` lacks forks before the current one), inferred from its header; undefined before
 * the Merge.
 */
export function impliedRules(header: BlockHeader, { stack }: Pick<ChainRules, 'stack'>): BlockRules | undefined {
  if (header.difficulty !== 0n) return undefined
  if (stack === 'optimism') {
    const opFork = opForkOf(header)
    return { fork: ethereumForkOf(opFork), opFork }
  }
  const { fork } = rulesOfHeader(header)
  const blob = isForkActive(fork, 'cancun') ? DEFAULT_BLOB_PARAMETERS[fork] : undefined
  return blob === undefined ? { fork } : { fork, blob }
}

/** The rules of a real block: from the chain's rules, else inferred from its header. */
export function rulesOf(header: BlockHeader, chain: ChainRules): BlockRules {
  return rulesAt(chain, header.number, header.timestamp) ?? impliedRules(header, chain) ?? rulesOfHeader(header)
}

/** Whether a block's header shows that it is older than the fork that `inferChainRules` found at the head. */
export function isOlderThanInferred(header: BlockHeader, rules: ChainRules): boolean {
  const head = rulesAt(rules, header.number, header.timestamp)
  const shown = impliedRules(header, rules)
  if (head === undefined || shown === undefined) return true
  const { ethereum, optimism } = HIDDEN
  if (head.opFork !== undefined && shown.opFork !== undefined)
    return (
      OP_FORKS.indexOf(shown.opFork) < OP_FORKS.indexOf(head.opFork === optimism.fork ? optimism.before : head.opFork)
    )
  return !isForkActive(shown.fork, head.fork === ethereum.fork ? ethereum.before : head.fork)
}

/** Jovian's extraData has version 1, Holocene's version 0. Fjord and Granite can't be told from Ecotone. */
function opForkOf(header: BlockHeader): OpFork {
  if (header.extraData.length === 36 && header.extraData.startsWith('0x01')) return 'jovian'
  if (header.requestsHash !== undefined) return 'isthmus'
  if (header.extraData.length === 20 && header.extraData.startsWith('0x00')) return 'holocene'
  if (header.parentBeaconBlockRoot !== undefined) return 'granite'
  return header.withdrawalsRoot === undefined ? 'regolith' : 'canyon'
}

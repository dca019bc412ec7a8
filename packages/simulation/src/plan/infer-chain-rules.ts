import type { BlockHeader } from '@upfront/protocol'
import { DEFAULT_BLOB_PARAMETERS, DEFAULT_BLOCK_TIME, DEFAULT_OP_BASE_FEE } from './chain-defaults.js'
import type { ChainRules, OpFork } from './chain-rules.js'
import { rulesOfHeader } from './rules-at.js'

/** Collects the fees of every OP-stack chain. */
const SEQUENCER_FEE_VAULT = '0x4200000000000000000000000000000000000011'

/**
 * The oldest rules that a head header fits, when nothing else is known of a chain; OP-stack chains are known by their fee
 * recipient. Osaka and the forks that only change blob parameters leave no trace in a header: they are not inferred.
 */
export function inferChainRules(header: BlockHeader, chainId: bigint): ChainRules {
  if (header.miner === SEQUENCER_FEE_VAULT) {
    return {
      chainId,
      stack: 'optimism',
      source: 'inferred',
      forks: [{ fork: opForkOf(header), block: 0n }],
      blobSchedule: [],
      schedule: { blockTime: DEFAULT_BLOCK_TIME.optimism },
      opBaseFee: DEFAULT_OP_BASE_FEE,
    }
  }
  const { fork } = rulesOfHeader(header)
  const parameters = DEFAULT_BLOB_PARAMETERS[fork]
  return {
    chainId,
    stack: 'ethereum',
    source: 'inferred',
    forks: [{ fork, block: 0n }],
    blobSchedule: parameters === undefined ? [] : [{ timestamp: 0n, parameters }],
    schedule: { blockTime: DEFAULT_BLOCK_TIME.ethereum },
  }
}

/** Jovian's extraData has version 1, Holocene's version 0; Fjord and Granite look like Ecotone. */
function opForkOf(header: BlockHeader): OpFork {
  if (header.extraData.length === 36 && header.extraData.startsWith('0x01')) return 'jovian'
  if (header.requestsHash !== undefined) return 'isthmus'
  if (header.extraData.length === 20 && header.extraData.startsWith('0x00')) return 'holocene'
  if (header.parentBeaconBlockRoot !== undefined) return 'granite'
  return header.withdrawalsRoot === undefined ? 'regolith' : 'canyon'
}

import type { BlockHeader } from '@upfront/protocol'
import type { BlockToCarry } from '../engine/block-carrier.js'
import {
  type BlockRules,
  type ChainRules,
  ETHEREUM_FORKS,
  type EthereumFork,
  OP_FORKS,
  type OpFork,
} from '../plan/chain-rules.js'
import { isForkActive, rulesAt } from '../plan/rules-at.js'
import type { SealedBlock } from './sealed-block.js'
import { sealedTransactionFromRpc, withdrawalFromRpc } from './sealed-transaction.js'

/**
 * Forks whose first block changes state only by its transactions and system calls. (From Amsterdam on, a wrong access list hash would show
 * any other change.) Canyon also places code, see `placedByFork`. Base's own forks are left out: their changes are unknown here.
 */
const PLAIN_FORKS: ReadonlySet<EthereumFork | OpFork> = new Set([
  ...(['shanghai', 'cancun', 'prague', 'osaka', 'amsterdam'] as const),
  ...(['regolith', 'ecotone', 'fjord', 'granite', 'holocene', 'isthmus', 'jovian', 'karst'] as const),
])

/**
 * A block's rules; undefined if they are unknown, and for a fork's first block if the fork changes more state than the block shows.
 * @param isPlaced whether the code that Canyon places is in the state
 */
export function carryRules(
  rules: ChainRules,
  header: BlockHeader,
  parent: BlockHeader,
  isPlaced = false,
): BlockRules | undefined {
  const { unsupportedFrom } = rules
  if (header.difficulty !== 0n) return undefined
  if (unsupportedFrom !== undefined && header.timestamp >= unsupportedFrom.timestamp) return undefined
  const before = rulesAt(rules, parent.number, parent.timestamp)
  const now = rulesAt(rules, header.number, header.timestamp)
  if (now !== undefined && isForkActive(now.fork, 'amsterdam') !== (header.blockAccessListHash !== undefined))
    return undefined
  return before !== undefined && now !== undefined && isPlain(before, now, isPlaced) ? now : undefined
}

function isPlain(before: BlockRules, now: BlockRules, isPlaced: boolean): boolean {
  const forks: readonly (EthereumFork | OpFork)[] = now.opFork === undefined ? ETHEREUM_FORKS : OP_FORKS
  const place = ({ fork, opFork }: BlockRules) => forks.indexOf(opFork ?? fork)
  const begin = forks.slice(place(before) + 1, place(now) + 1)
  return begin.every((fork) => PLAIN_FORKS.has(fork) || (isPlaced && fork === 'canyon'))
}

/** Converts a block to the form that an engine executes. @throws UpstreamFault, UnknownTransactionType */
export function blockToCarry(
  { header, transactions, withdrawals }: SealedBlock,
  chain: ChainRules,
  rules: BlockRules,
): BlockToCarry {
  const { hash, number, timestamp, parentHash, gasLimit, miner, mixHash, baseFeePerGas = 0n, extraData } = header
  const { gasUsed, transactionsRoot, receiptsRoot, logsBloom, withdrawalsRoot, requestsHash, blobGasUsed } = header
  const { parentBeaconBlockRoot, excessBlobGas, blockAccessListHash, slotNumber } = header
  const isCancun = isForkActive(rules.fork, 'cancun')
  return {
    rules: chain,
    hash,
    block: {
      ...{ number, timestamp, parentHash, gasLimit, baseFeePerGas, extraData, rules },
      feeRecipient: miner,
      prevRandao: mixHash,
      ...(isCancun && parentBeaconBlockRoot !== undefined && { parentBeaconBlockRoot }),
      ...(isCancun && excessBlobGas !== undefined && { excessBlobGas }),
      ...(slotNumber !== undefined && { slotNumber }),
    },
    transactions: transactions.map(sealedTransactionFromRpc),
    earlierReceipts: [],
    withdrawals: withdrawals.map(withdrawalFromRpc),
    ...{ gasUsed, transactionsRoot, receiptsRoot, logsBloom },
    ...(withdrawalsRoot !== undefined && { withdrawalsRoot }),
    ...(requestsHash !== undefined && { requestsHash }),
    ...(blockAccessListHash !== undefined && { blockAccessListHash }),
    ...(blobGasUsed !== undefined && { blobGasUsed }),
  }
}

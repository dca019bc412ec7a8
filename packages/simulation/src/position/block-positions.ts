import { UpstreamFault } from '@upfront/node'
import { type BlockHeader, ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { blockToCarry, carryRules } from '../carry/block-to-carry.js'
import type { SealedBlock } from '../carry/sealed-block.js'
import { UnknownTransactionType } from '../carry/sealed-transaction.js'
import { type PinnedState, pinnedState } from '../drive/pinned-state.js'
import type { BlockToCarry, SealedTransaction } from '../engine/block-carrier.js'
import type { StateLayer } from '../engine/state.js'
import type { ChainRules } from '../plan/chain-rules.js'
import type { PendingBlock } from '../present/present-pending-block.js'
import { BlockPrefix, type PrefixSite } from './block-prefix.js'

/** Limit of state values over all cached blocks, about 400 bytes each. */
const MAX_VALUES = 64_000

/** Weight of a character of a transaction's input, in values. */
const VALUES_A_CHARACTER = 1 / 400

/** The executed part of a block. */
export interface OpenedPrefix {
  /** The block's hash, or its builder's identifier. */
  key: string
  prefix: BlockPrefix
}

/** A block with its executed part. */
export interface OpenedBlock extends OpenedPrefix {
  header: BlockHeader
  /** It is the node's own pending block: its header's hash is only known here. */
  isPending?: boolean
  parent: BlockHeader
  rules: ChainRules
  transactions: readonly SealedTransaction[]
}

/** Caches blocks that were executed transaction by transaction, for later requests on them. */
export class BlockPositions {
  readonly #prefixes = new LRUCache<string, BlockPrefix>({ max: 256, maxSize: MAX_VALUES })
  /** For sealed blocks, as long as their prefixes are cached. */
  readonly #opened = new WeakMap<BlockPrefix, OpenedBlock>()

  /** A cached sealed block. */
  known(hash: Hash, rules: ChainRules): OpenedBlock | undefined {
    const prefix = this.#prefixes.get(hash)
    const opened = prefix && this.#opened.get(prefix)
    return opened?.rules === rules ? opened : undefined
  }

  /**
   * Caches a sealed block, to be executed on demand.
   * @param placed what a fork puts into the state before the transactions, see `placedByFork`
   * @throws RpcError -32000 if its rules are unknown, or the node's block can't be decoded
   */
  open(block: SealedBlock, parent: BlockHeader, rules: ChainRules, placed?: StateLayer): OpenedBlock {
    const { header } = block
    // Another request may have opened it since.
    const known = this.known(header.hash, rules)
    if (known !== undefined) return known
    const decoded = decode(block, parent, rules, placed !== undefined)
    const pinned = { header: parent, key: parent.hash }
    const prefix = new BlockPrefix({
      rules,
      environment: decoded.block,
      below: pinnedState(pinned, placed && [placed]),
      transactions: async ({ driver, executor, cancellation, budget }) =>
        driver.run(() => executor.encode(decoded, cancellation), pinnedState(pinned), { budget, cancellation }),
      // Receipts include the gas used. The header's gas used is no sum over transactions from Amsterdam on.
      differenceOf: ({ receiptsRoot }) =>
        receiptsRoot === header.receiptsRoot
          ? undefined
          : `receipts root ${receiptsRoot}, in the header ${header.receiptsRoot}`,
    })
    const opened = { key: header.hash, header, parent, rules, prefix, transactions: decoded.transactions }
    this.#opened.set(prefix, opened)
    this.#keep(header.hash, prefix)
    return opened
  }

  /** The executed part of a block under construction. @param key the builder's identifier of the block */
  unsealed(key: string, block: PendingBlock, below: PinnedState, rules: ChainRules): BlockPrefix {
    const { environment } = block
    const raw = block.transactions.map((transaction) => transaction.raw)
    const known = this.#prefixes.get(key)
    if (known?.transactions.every((transaction, index) => transaction.raw === raw[index])) {
      known.extendTo(raw)
      return known
    }
    const prefix = new BlockPrefix({ rules, environment, below, transactions: async () => raw })
    this.#keep(key, prefix)
    return prefix
  }

  /**
   * `BlockPrefix.after`, with the cache kept within bounds.
   * @param key the block's hash, or its builder's identifier
   * @throws what `BlockPrefix.after` does
   */
  async after(key: string, prefix: BlockPrefix, count: number, site: PrefixSite): Promise<PinnedState> {
    const state = await prefix.after(count, site)
    this.#keep(key, prefix)
    return state
  }

  #keep(key: string, prefix: BlockPrefix): void {
    const { transactions = [] } = this.#opened.get(prefix) ?? {}
    const inputs = transactions.reduce((sum, { input }) => sum + 1 + input.length * VALUES_A_CHARACTER, 0)
    this.#prefixes.set(key, prefix, { size: Math.ceil(prefix.weight + inputs) })
  }
}

function decode(block: SealedBlock, parent: BlockHeader, rules: ChainRules, isPlaced: boolean): BlockToCarry {
  const { header } = block
  if (header.number === 0n) throw new RpcError(ErrorCode.serverError, 'no transaction in genesis')
  const blockRules = carryRules(rules, header, parent, isPlaced)
  const refuse = (why: string) =>
    new RpcError(ErrorCode.serverError, `block ${header.number} cannot be executed: ${why}`)
  if (blockRules === undefined)
    throw refuse('a fork that changes state by itself begins with it, or its rules are unknown')
  try {
    return blockToCarry(block, rules, blockRules)
  } catch (error) {
    if (error instanceof UpstreamFault || error instanceof UnknownTransactionType) throw refuse(error.message)
    throw error
  }
}

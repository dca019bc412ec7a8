import { Inject, Injectable } from '@nestjs/common'
import { Chain, headerOf, newestBlock, openingOf, type PreconfirmedSnapshot, parentOfNewest } from '@upfront/chain'
import { type BlockHeader, type BlockPosition, ErrorCode, RpcError } from '@upfront/protocol'
import {
  BlockPositions,
  type ChainRules,
  Driver,
  type OpenedBlock,
  type OpenedPrefix,
  type PinnedBlock,
  type PinnedState,
  parentOf,
  pinnedState,
  placedByFork,
  presentPendingBlock,
  ReadBudget,
  type SealedBlock,
  sealedTransactionFromRpc,
} from '@upfront/simulation'
import { ENGINE, type EngineChoice } from '../environment/engine-choice.js'
import type { SimulationBase, TimeLimits } from './simulation-base.js'

/** Executing a block's first transactions may read this many times what one simulation may. */
const READS_OF_A_BLOCK = 8

/** Finds the state at a position in a block by executing the transactions before it. */
@Injectable()
export class Positions {
  private readonly positions = new BlockPositions()

  constructor(
    private readonly chain: Chain,
    private readonly driver: Driver,
    @Inject(ENGINE) private readonly choice: EngineChoice,
  ) {}

  /**
   * The base of a simulation at a position in a sealed block, or in the node's own pending block.
   * @throws RpcError -32602 if the block has no such position, -32000 if it can't be executed here; UpstreamError, BlockMoved; the signal's
   * reason
   */
  async inSealed(pinned: PinnedBlock, position: BlockPosition, limits: TimeLimits): Promise<SimulationBase> {
    unlessSold(position, limits)
    const opened = await this.openPinned(pinned, limits)
    const { header, parent, transactions } = opened
    unlessBeyond(position, `block ${header.number}`, transactions.length, header.hash)
    const state = await this.after(opened, position.transactionIndex, limits)
    return {
      base: parentOf(header, parent),
      opening: {
        timestamp: header.timestamp,
        gasLimit: header.gasLimit,
        feeRecipient: header.miner,
        prevRandao: header.mixHash,
        baseFeePerGas: header.baseFeePerGas ?? 0n,
        ...(header.parentBeaconBlockRoot !== undefined && { beaconRoot: header.parentBeaconBlockRoot }),
      },
      inside: header,
      earlierLogs: opened.prefix.logsBefore(position.transactionIndex),
      state,
      cancellation: limits,
    }
  }

  /** Like `inSealed`, for the block under construction. */
  async inUnsealed(
    snapshot: PreconfirmedSnapshot,
    position: BlockPosition,
    limits: TimeLimits,
  ): Promise<SimulationBase> {
    unlessSold(position, limits)
    const block = newestBlock(snapshot)
    unlessBeyond(position, 'the block under construction', block.transactions.length, block.hash)
    const opened = await this.openUnsealed(snapshot, limits)
    const state = await this.after(opened, position.transactionIndex, limits)
    const earlierLogs = opened.prefix.logsBefore(position.transactionIndex)
    return { base: parentOfNewest(snapshot), opening: openingOf(snapshot), earlierLogs, state, cancellation: limits }
  }

  /** The block under construction, with its transactions executed so far. */
  async openUnsealed(snapshot: PreconfirmedSnapshot, limits: TimeLimits): Promise<OpenedPrefix> {
    const block = newestBlock(snapshot)
    const { block: pinned, layers } = snapshot.state
    const below = pinnedState(pinned, layers.slice(0, layers.length - block.layers.length))
    const key = [block.payloadId, pinned.key, ...below.layers.map(({ id }) => id)].join()
    return { key, prefix: this.positions.unsealed(key, block, below, await this.chain.rules(limits)) }
  }

  /** The block under construction as a whole, to trace its transactions so far. */
  async openSnapshot(snapshot: PreconfirmedSnapshot, limits: TimeLimits): Promise<OpenedBlock> {
    const block = newestBlock(snapshot)
    return {
      ...(await this.openUnsealed(snapshot, limits)),
      header: headerOf(block, block.hash, snapshot.head),
      parent: parentOfNewest(snapshot),
      rules: await this.chain.rules(limits),
      transactions: presentPendingBlock(block, true).transactions.map(sealedTransactionFromRpc),
    }
  }

  /** A sealed block, or the node's own pending block. @throws like `inSealed` */
  openPinned(pinned: PinnedBlock, limits: TimeLimits): Promise<OpenedBlock> {
    return pinned.opening ? this.openPending(pinned, limits) : this.open(pinned.header, limits)
  }

  /**
   * The block with its transactions and those executed so far.
   * @throws like `inSealed`
   */
  async open(header: BlockHeader, limits: TimeLimits): Promise<OpenedBlock> {
    if (header.number === 0n) throw new RpcError(ErrorCode.serverError, 'no transaction in genesis')
    const rules = await this.chain.rules(limits)
    const known = this.positions.known(header.hash, rules)
    if (known !== undefined) return known
    const [block, parent] = await Promise.all([
      this.chain.whole(header.hash, limits),
      this.chain.resolver.resolve({ kind: 'hash', hash: header.parentHash, requireCanonical: false }, limits),
    ])
    if (block === undefined) throw new RpcError(ErrorCode.serverError, `block ${header.hash} not found`)
    return this.opened(block, parent.header, rules, limits)
  }

  /** The node's own pending block. */
  private async openPending(pinned: PinnedBlock, limits: TimeLimits): Promise<OpenedBlock> {
    const rules = await this.chain.rules(limits)
    const known = this.positions.known(pinned.key, rules)
    const opened = known ?? (await this.opened(await this.chain.pending(pinned, limits), pinned.header, rules, limits))
    return { ...opened, isPending: true }
  }

  private async opened(
    block: SealedBlock,
    parent: BlockHeader,
    rules: ChainRules,
    limits: TimeLimits,
  ): Promise<OpenedBlock> {
    const { number, hash } = parent
    const { header } = block
    this.choice.engine.provide(hash, [{ kind: 'blockHash', number }], [hash])
    const placed = await placedByFork(rules, header, (reads) =>
      this.driver.read(reads, pinnedState({ header, key: header.hash }), {
        budget: new ReadBudget(reads.length, limits.deadline),
        cancellation: limits,
      }),
    )
    return this.positions.open(block, parent, rules, placed)
  }

  /** The state after the first `count` transactions of the block. @throws like `inSealed` */
  async after({ key, prefix }: OpenedPrefix, count: number, limits: TimeLimits): Promise<PinnedState> {
    const { deadline, costs } = limits
    const budget = new ReadBudget(READS_OF_A_BLOCK * (costs?.limits.upstreamReads ?? 0), deadline)
    let gasUsed = 0n
    try {
      return await this.positions.after(key, prefix, count, {
        driver: this.driver,
        executor: this.choice.engine,
        budget,
        cancellation: limits,
        onExecuted: (gas) => {
          gasUsed += gas
        },
      })
    } finally {
      if (gasUsed > 0n || budget.used > 0) costs?.spend?.({ gasUsed, reads: budget.used })
    }
  }
}

function unlessBeyond(position: BlockPosition, named: string, count: number, hash: string): void {
  const { transactionIndex: index, isOfTransaction } = position
  if (!isOfTransaction && index > count) {
    const has = count === 1 ? '1 transaction' : `${count} transactions`
    throw refused(position, `${named} has ${has}, got ${index}`)
  }
  // As in geth: in an empty block, index 0 is the state that its first transaction would have.
  if (isOfTransaction && index >= count && !(index === 0 && count === 0))
    throw new RpcError(ErrorCode.serverError, `transaction index ${index} out of range for block ${hash}`)
}

/** Bills are checked on the state of a whole block, which a witness can prove. */
function unlessSold(position: BlockPosition, { costs }: TimeLimits): void {
  if (costs?.isSold) throw refused(position, 'paid calls take no position in a block: expected a whole block')
}

function refused({ place }: BlockPosition, why: string): RpcError {
  return new RpcError(ErrorCode.invalidParams, `${place}: ${why}`)
}

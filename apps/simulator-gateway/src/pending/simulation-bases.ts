import { Injectable } from '@nestjs/common'
import { Chain, openingOf, Preconfirmed, type PreconfirmedSnapshot, parentOfNewest } from '@upfront/chain'
import { type Awaitable, andThen, type CallLimits, type Cancellation, catchError } from '@upfront/node'
import type { BlockHeader, BlockParameter, BlockPosition, StateParameter } from '@upfront/protocol'
import { BlockMoved, type PinnedBlock, pinnedState, type RecentPosition } from '@upfront/simulation'
import { answerStateOf, latestState } from './answer-state.js'
import { Positions } from './positions.js'
import type { RequestView } from './request-view.js'
import type { SimulationBase, TimeLimits } from './simulation-base.js'

const LATEST: BlockParameter = { kind: 'tag', tag: 'latest' }
const START: BlockPosition = { kind: 'position', block: LATEST, transactionIndex: 0, place: 'outcome' }
/** How often a batch's work is started on a head that is then reorganised away. */
const MAX_RUNS = 3

/** Resolves block parameters of a request. */
@Injectable()
export class SimulationBases {
  constructor(
    private readonly preconfirmed: Preconfirmed,
    private readonly chain: Chain,
    private readonly positions: Positions,
  ) {}

  /**
   * Runs `work` on the state that the parameter names, again if that block is reorganised away while it runs.
   * @throws RpcError, what `work` throws, or the signal's reason
   */
  withBase<T>(
    block: StateParameter,
    view: RequestView,
    limits: TimeLimits,
    work: (base: SimulationBase) => Awaitable<T>,
  ): Awaitable<T> {
    if (block.kind === 'position') return this.atPosition(block, view, limits, work)
    const snapshot = this.snapshotFor(block, view)
    if (snapshot !== undefined) {
      view.answerState = answerStateOf(snapshot)
      const { state } = snapshot
      return work({ base: parentOfNewest(snapshot), opening: openingOf(snapshot), state, cancellation: limits })
    }
    return this.onSealed(block, view, limits, (pinned, cancellation) =>
      work({ base: pinned.header, opening: pinned.opening, state: pinnedState(pinned), cancellation }),
    )
  }

  private atPosition<T>(
    position: BlockPosition,
    view: RequestView,
    limits: TimeLimits,
    work: (base: SimulationBase) => Awaitable<T>,
  ): Awaitable<T> {
    const { block, transactionIndex } = position
    const snapshot = this.snapshotFor(block, view)
    if (snapshot !== undefined) {
      view.answerState = { ...answerStateOf(snapshot), transactionIndex }
      return this.positions.inUnsealed(snapshot, position, limits).then(work)
    }
    return this.onSealed(block, view, limits, async (pinned, { signal }) => {
      const { deadline, costs } = limits
      const base = await this.positions.inSealed(pinned, position, { signal, deadline, ...(costs && { costs }) })
      if (view.answerState) view.answerState = { ...view.answerState, transactionIndex }
      return work(base)
    })
  }

  private onSealed<T>(
    block: BlockParameter,
    view: RequestView,
    limits: TimeLimits,
    workOn: (pinned: PinnedBlock, cancellation: Cancellation) => Awaitable<T>,
  ): Awaitable<T> {
    const known = (pinned: PinnedBlock) => this.noteBase(pinned, view)
    const held = view.pinned?.get(block)
    if (held !== undefined) {
      known(held)
      return workOn(held, limits)
    }
    const meant = this.isHead(block) ? LATEST : block
    if (meant === LATEST && (view.holdsSeveral || view.head !== undefined))
      return this.onSharedHead(view, limits, workOn)
    return this.chain.resolver.onBlock(meant, limits, workOn, known)
  }

  /** The base of the same simulation at an earlier place; undefined if that block is not kept, or the place is the same. */
  async findRecentBase(
    { opening, state }: Pick<SimulationBase, 'opening' | 'state'>,
    { back, isMiddle }: RecentPosition,
    limits: TimeLimits,
  ): Promise<Pick<SimulationBase, 'base' | 'opening' | 'state'> | undefined> {
    if (opening !== undefined || state.layers.length > 0) return undefined
    let header: BlockHeader | undefined = state.block.header
    for (let left = back; left > 0 && header !== undefined; left -= 1)
      header = this.chain.head.header(header.parentHash)
    if (header === undefined) return undefined
    try {
      const { transactions } = await this.positions.open(header, limits)
      const transactionIndex = isMiddle ? Math.floor(transactions.length / 2) : 0
      if (isMiddle && transactionIndex === 0) return undefined
      const at = { ...START, transactionIndex }
      const earlier = await this.positions.inSealed({ header, key: header.hash }, at, limits)
      return { base: earlier.base, opening: earlier.opening, state: earlier.state }
    } catch {
      limits.signal.throwIfAborted()
      return undefined
    }
  }

  /** The block under construction, if the parameter names it. */
  snapshotFor(block: BlockParameter, view: RequestView): PreconfirmedSnapshot | undefined {
    return block.kind === 'tag' && block.tag === 'pending' && this.preconfirmed.enabled
      ? this.preconfirmed.snapshotFor(view)
      : undefined
  }

  /** Whether a parameter that names no block under construction means the head. */
  isHead(block: BlockParameter): boolean {
    return block.kind === 'tag' && (block.tag === 'latest' || (block.tag === 'pending' && this.preconfirmed.enabled))
  }

  /**
   * The sealed block that the parameter names, if reads of it are answered here: a followed block, or the head for a batch. Undefined if
   * the node must answer.
   * @throws or rejects with UpstreamError or the signal's reason
   */
  held(block: BlockParameter, view: RequestView, limits: CallLimits): Awaitable<PinnedBlock | undefined> {
    if (!this.chain.answersReads) return undefined
    if (this.isHead(block))
      return view.holdsSeveral ? this.head(view, limits) : (view.head ?? this.chain.head.current())
    if (block.kind === 'tag') return undefined
    const header = this.chain.head.header(block.kind === 'number' ? block.number : block.hash)
    if (header === undefined) return undefined
    const isCanonical = block.kind === 'number' || !block.requireCanonical
    if (!isCanonical && this.chain.head.header(header.number)?.hash !== header.hash) return undefined
    return { header, key: header.hash }
  }

  /**
   * The head that all calls of the request use.
   * @throws or rejects with UpstreamError or the signal's reason
   */
  head(view: RequestView, limits: CallLimits): Awaitable<PinnedBlock> {
    view.head ??= this.chain.resolver.resolve(LATEST, limits)
    return view.head
  }

  /** Records that the answer is based on this sealed block. */
  noteBase(pinned: PinnedBlock, view: RequestView): void {
    view.answerState = latestState(pinned, this.chain.recent.isCarried(pinned.header.hash))
  }

  private onSharedHead<T>(
    view: RequestView,
    limits: TimeLimits,
    work: (pinned: PinnedBlock, cancellation: Cancellation) => Awaitable<T>,
    run = 1,
  ): Awaitable<T> {
    const head = this.head(view, limits)
    return catchError(
      () =>
        andThen(head, (pinned) => {
          this.noteBase(pinned, view)
          return work(pinned, limits)
        }),
      (error) => {
        if (!(error instanceof BlockMoved) || run === MAX_RUNS) throw error
        limits.signal.throwIfAborted()
        if (view.head === head)
          view.head = andThen(this.chain.resolver.askHead(limits), (header) => ({ header, key: header.hash }))
        return this.onSharedHead(view, limits, work, run + 1)
      },
    )
  }
}

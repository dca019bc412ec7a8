import type { Address, Hash, Hex } from '@upfront/protocol'
import type { Node } from './node.js'
import { NodeRefusal } from './node-error.js'
import { type Receipt, type RpcReceipt, readReceipt } from './receipt.js'
import { type Fees, State } from './state.js'

export interface RpcBlock {
  number: Hex
  hash: Hash
  parentHash: Hash
  timestamp: Hex
  transactions: { hash: Hash; to: Address | null; input: Hex }[]
}

/** One block with its post-state, both identified by the block's hash. */
export class BlockView extends State {
  readonly number: bigint
  readonly hash: Hash
  /** Unix time, in seconds. */
  readonly timestamp: bigint
  readonly transactions: readonly { hash: Hash; to: Address | null; input: Hex }[]
  /** State of the parent block. */
  readonly before: State
  readonly #node: Node

  constructor(node: Node, block: RpcBlock, readFees: () => Promise<Fees>) {
    const stateOf = (blockHash: Hash) => ({ blockHash, requireCanonical: true }) as const
    super(node, stateOf(block.hash), readFees)
    this.before = new State(node, stateOf(block.parentHash), readFees)
    this.#node = node
    this.number = BigInt(block.number)
    this.hash = block.hash
    this.timestamp = BigInt(block.timestamp)
    this.transactions = block.transactions.map(({ hash, to, input }) => {
      return { hash, to: (to?.toLowerCase() as Address | undefined) ?? null, input }
    })
  }

  /** Receipts of all transactions; `null` if the node does not (yet) have all of them. */
  async receipts(): Promise<Receipt[] | null> {
    const found = await this.#readReceipts()
    if (found === null || found.length !== this.transactions.length) return null
    const isComplete = this.transactions.every(({ hash }, index) => {
      const receipt = found[index]
      return receipt?.transactionHash === hash && receipt.blockHash === this.hash
    })
    return isComplete ? (found as RpcReceipt[]).map(readReceipt) : null
  }

  async #readReceipts(): Promise<(RpcReceipt | null)[] | null> {
    try {
      return await this.#node.request<RpcReceipt[] | null>('eth_getBlockReceipts', [this.hash])
    } catch (error) {
      // A node without `eth_getBlockReceipts` can still serve single receipts.
      if (!(error instanceof NodeRefusal)) throw error
      return Promise.all(
        this.transactions.map(({ hash }) => this.#node.request<RpcReceipt | null>('eth_getTransactionReceipt', [hash])),
      )
    }
  }
}

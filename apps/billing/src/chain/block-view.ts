import type { Address, Hash, Hex } from '@upfront/protocol'
import { type Fees, wouldSettle } from './gas-terms.js'
import type { Node } from './node.js'
import { NodeRefusal } from './node-error.js'
import { type Receipt, type RpcReceipt, readReceipt } from './receipt.js'
import {
  encodeBalanceOf,
  encodePermit2Allowance,
  encodeSettlement,
  isNonceUsed,
  type NonceOf,
  nonceCall,
  type SignedTerms,
  settlementTarget,
  toUint,
} from './settlement-call.js'

export interface RpcBlock {
  number: Hex
  hash: Hash
  parentHash: Hash
  timestamp: Hex
  transactions: { hash: Hash; to: Address | null; input: Hex }[]
}

/**
 * One block of the chain. Everything is read by the block's hash: whichever node answers, it answers for this very block, or
 * refuses because it does not have it. All methods throw `NodeFault` or `NodeRefusal`.
 */
export class BlockView {
  readonly number: bigint
  readonly hash: Hash
  readonly parentHash: Hash
  /** Seconds since 1970. */
  readonly timestamp: bigint
  readonly transactions: readonly { hash: Hash; to: Address | null; input: Hex }[]

  readonly #node: Node
  readonly #readFees: () => Promise<Fees>

  constructor(node: Node, block: RpcBlock, readFees: () => Promise<Fees>) {
    this.#node = node
    this.#readFees = readFees
    this.number = BigInt(block.number)
    this.hash = block.hash
    this.parentHash = block.parentHash
    this.timestamp = BigInt(block.timestamp)
    this.transactions = block.transactions.map(({ hash, to, input }) => {
      return { hash, to: (to?.toLowerCase() as Address | undefined) ?? null, input }
    })
  }

  async balanceOf(token: Address, owner: Address): Promise<bigint> {
    return toUint(await this.#call(token, encodeBalanceOf(owner)))
  }

  async permit2Allowance(token: Address, owner: Address): Promise<bigint> {
    return toUint(await this.#call(token, encodePermit2Allowance(owner)))
  }

  isNonceUsed(authorization: NonceOf): Promise<boolean> {
    return this.#isNonceUsedAt(authorization, this.hash)
  }

  wasNonceUsedBefore(authorization: NonceOf): Promise<boolean> {
    return this.#isNonceUsedAt(authorization, this.parentHash)
  }

  /** How many transactions of the account this block and those before it hold. */
  async transactionCount(address: Address): Promise<number> {
    return Number(await this.#node.request<Hex>('eth_getTransactionCount', [address, atHash(this.hash)]))
  }

  /** Whether the settlement would have succeeded on this block, with the gas that it was promised. */
  async wouldSettle(payment: SignedTerms & { settlementGas: bigint }, amount: bigint): Promise<boolean> {
    const data = encodeSettlement(payment, amount)
    const { facilitator: from, settlementGas: gas } = payment
    const settlement = { from, to: settlementTarget(payment), data, gas, fees: await this.#readFees() }
    return wouldSettle(this.#node, settlement, atHash(this.hash))
  }

  /** The receipts of all its transactions; `null` where the node does not have every one of them (yet). */
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
      // A node without that method still has single receipts.
      if (!(error instanceof NodeRefusal)) throw error
      return Promise.all(
        this.transactions.map(({ hash }) => this.#node.request<RpcReceipt | null>('eth_getTransactionReceipt', [hash])),
      )
    }
  }

  async #isNonceUsedAt(authorization: NonceOf, blockHash: Hash): Promise<boolean> {
    const call = [nonceCall(authorization), atHash(blockHash)]
    return isNonceUsed(await this.#node.request<Hex>('eth_call', call), authorization)
  }

  #call(to: Address, data: Hex): Promise<Hex> {
    return this.#node.request('eth_call', [{ to, data }, atHash(this.hash)])
  }
}

/** EIP-1898. */
function atHash(blockHash: Hash): { blockHash: Hash; requireCanonical: true } {
  return { blockHash, requireCanonical: true }
}

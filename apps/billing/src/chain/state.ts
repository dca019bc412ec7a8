import type { Address, Hash, Hex } from '@upfront/protocol'
import type { Node } from './node.js'
import { isOutOfGas, NodeRefusal, Revert } from './node-error.js'
import {
  encodeBalanceOf,
  encodePermit2Allowance,
  isNonceUsed,
  type NonceOf,
  nonceCall,
  SETTLEMENT_GAS_LIMIT,
  toQuantity,
  toUint,
} from './settlement-call.js'

/** Wei. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** How a settlement is called. */
export interface SettlementCall {
  /** The signer that settles it. */
  from: Address
  to: Address
  data: Hex
}

/** The newest block, one by its number or, whichever node answers, that very block by its hash (EIP-1898). */
type BlockParameter = 'latest' | Hex | { blockHash: Hash; requireCanonical: true }

/** What the chain holds as of one block. All methods throw `NodeFault` and `NodeRefusal`. */
export class State {
  readonly #node: Node
  readonly #at: BlockParameter
  readonly #readFees: () => Promise<Fees>

  /** @param readFees those that settlements are simulated with */
  constructor(node: Node, at: BlockParameter, readFees: () => Promise<Fees>) {
    this.#node = node
    this.#at = at
    this.#readFees = readFees
  }

  /** With a bound on gas where the callee is not trusted: it then reverts instead of burning the node's time. */
  call(to: Address, data: Hex, { from, gas }: { from?: Address; gas?: bigint } = {}): Promise<Hex> {
    const call = { ...(from && { from }), to, data, ...(gas !== undefined && { gas: toQuantity(gas) }) }
    return this.#node.request('eth_call', [call, this.#at])
  }

  code(address: Address): Promise<Hex> {
    return this.#node.request('eth_getCode', [address, this.#at])
  }

  /** How many transactions of the account are mined. */
  async transactionCount(address: Address): Promise<number> {
    return Number(await this.#node.request<Hex>('eth_getTransactionCount', [address, this.#at]))
  }

  /** Native balance in wei. */
  async balance(address: Address): Promise<bigint> {
    return BigInt(await this.#node.request<Hex>('eth_getBalance', [address, this.#at]))
  }

  async balanceOf(token: Address, owner: Address): Promise<bigint> {
    return toUint(await this.call(token, encodeBalanceOf(owner)))
  }

  async permit2Allowance(token: Address, owner: Address): Promise<bigint> {
    return toUint(await this.call(token, encodePermit2Allowance(owner)))
  }

  async isNonceUsed(authorization: NonceOf): Promise<boolean> {
    const { to, data } = nonceCall(authorization)
    return isNonceUsed(await this.call(to, data), authorization)
  }

  /** Calls a settlement with this gas limit. Throws `Revert` too. */
  simulateSettlement(settlement: SettlementCall, gas: bigint): Promise<Hex> {
    return this.#withFees(settlement, gas, (call) => this.#node.request<Hex>('eth_call', [call, this.#at]))
  }

  /** Whether a settlement succeeds within this gas limit. */
  async wouldSettle(settlement: SettlementCall, gas: bigint): Promise<boolean> {
    return (await orNull(this.simulateSettlement(settlement, gas))) !== null
  }

  /** Gas; `null`: it reverts, or needs more than any settlement gets. */
  async estimateSettlement(settlement: SettlementCall): Promise<bigint | null> {
    const estimate = (call: object) => this.#node.request<Hex>('eth_estimateGas', [call, this.#at])
    const gas = await orNull(this.#withFees(settlement, SETTLEMENT_GAS_LIMIT, estimate))
    return gas === null || BigInt(gas) > SETTLEMENT_GAS_LIMIT ? null : BigInt(gas)
  }

  /**
   * On the terms that a settlement will have: without fees a node runs it at price 0, which a payer's contract can tell. Nodes ask that the
   * sender could pay for all of the limit; one that can only pay for what is used gets the answer of price 0.
   */
  async #withFees<T>(settlement: SettlementCall, gas: bigint, ask: (call: object) => Promise<T>): Promise<T> {
    const { from, to, data } = settlement
    const call = { from, to, data, gas: toQuantity(gas) }
    const { maxFeePerGas, maxPriorityFeePerGas } = await this.#readFees()
    const fees = {
      maxFeePerGas: toQuantity(maxFeePerGas),
      maxPriorityFeePerGas: toQuantity(maxPriorityFeePerGas),
    }
    try {
      return await ask({ ...call, ...fees })
    } catch (error) {
      if (error instanceof NodeRefusal && /insufficient funds/i.test(error.message)) return ask(call)
      throw error
    }
  }
}

/** `null`: the call fails, whatever its reason. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Revert || (error instanceof NodeRefusal && isOutOfGas(error))) return null
    throw error
  }
}

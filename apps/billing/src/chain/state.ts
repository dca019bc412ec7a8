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

/** A settlement as a call. */
export interface SettlementCall {
  /** The signer that sends the settlement. */
  from: Address
  to: Address
  data: Hex
}

/** The newest block, a block by number, or a block by hash (EIP-1898), which is the same on every node. */
type BlockParameter = 'latest' | Hex | { blockHash: Hash; requireCanonical: true }

/** The state of the chain at one block. All methods throw `NodeFault` and `NodeRefusal`. */
export class State {
  readonly #node: Node
  readonly #at: BlockParameter
  readonly #readFees: () => Promise<Fees>

  /** @param readFees fees with which settlements are simulated */
  constructor(node: Node, at: BlockParameter, readFees: () => Promise<Fees>) {
    this.#node = node
    this.#at = at
    this.#readFees = readFees
  }

  /** Set `gas` if the callee is not trusted, so that it reverts instead of using up the node's time. */
  call(to: Address, data: Hex, { from, gas }: { from?: Address; gas?: bigint } = {}): Promise<Hex> {
    const call = { ...(from && { from }), to, data, ...(gas !== undefined && { gas: toQuantity(gas) }) }
    return this.#node.request('eth_call', [call, this.#at])
  }

  code(address: Address): Promise<Hex> {
    return this.#node.request('eth_getCode', [address, this.#at])
  }

  /** Nonce of the account: the number of its mined transactions. */
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

  /** Simulates a settlement with this gas limit. Also throws `Revert`. */
  simulateSettlement(settlement: SettlementCall, gas: bigint): Promise<Hex> {
    return this.#withFees(settlement, gas, (call) => this.#node.request<Hex>('eth_call', [call, this.#at]))
  }

  /** Whether a settlement succeeds within this gas limit. */
  async wouldSettle(settlement: SettlementCall, gas: bigint): Promise<boolean> {
    return (await orNull(this.simulateSettlement(settlement, gas))) !== null
  }

  /** Estimated gas; `null` if it reverts or needs more than any settlement gets. */
  async estimateSettlement(settlement: SettlementCall): Promise<bigint | null> {
    const estimate = (call: object) => this.#node.request<Hex>('eth_estimateGas', [call, this.#at])
    const gas = await orNull(this.#withFees(settlement, SETTLEMENT_GAS_LIMIT, estimate))
    return gas === null || BigInt(gas) > SETTLEMENT_GAS_LIMIT ? null : BigInt(gas)
  }

  /**
   * Simulates with real fees: without them a node uses gas price 0, which a payer's contract can detect. Nodes require that the sender can
   * pay for the full limit; if it can't, the simulation is repeated at price 0.
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

/** Returns `null` if the call reverts or runs out of gas. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Revert || (error instanceof NodeRefusal && isOutOfGas(error))) return null
    throw error
  }
}

import type { Address, Hash, Hex } from '@upfront/protocol'
import { encodeFunctionData, parseAbi } from 'viem'
import type { Node } from './node.js'
import { isOutOfGas, NodeRefusal, Revert } from './node-error.js'
import { SETTLEMENT_GAS_LIMIT, toQuantity, toUint } from './settlement-call.js'

/** OP-stack predeploy; no other chain has code there. */
const GAS_PRICE_ORACLE: Address = '0x420000000000000000000000000000000000000f'
const abi = parseAbi(['function getL1Fee(bytes) view returns (uint256)'])

/** Wei. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** A settlement on the terms it will have: without fees a node runs it at price 0, which a payer's contract can tell. */
interface Settlement {
  from: Address
  to: Address
  data: Hex
  /** Its gas limit. */
  gas: bigint
  fees: Fees
}

type Block = 'latest' | { blockHash: Hash; requireCanonical: true }

/** Throws `NodeFault`, `NodeRefusal` and `Revert`. */
export function simulateSettlement(node: Node, settlement: Settlement, block: Block): Promise<Hex> {
  return withFees(settlement, (call) => node.request<Hex>('eth_call', [call, block]))
}

/** Whether it succeeds within its gas limit. Throws `NodeFault` and `NodeRefusal`. */
export async function wouldSettle(node: Node, settlement: Settlement, block: Block): Promise<boolean> {
  try {
    await simulateSettlement(node, settlement, block)
    return true
  } catch (error) {
    if (error instanceof Revert || (error instanceof NodeRefusal && isOutOfGas(error))) return false
    throw error
  }
}

/** Gas. Throws `NodeFault`, `NodeRefusal` and `Revert`. */
export async function estimateSettlement(node: Node, settlement: Omit<Settlement, 'gas'>): Promise<bigint> {
  const most = { ...settlement, gas: SETTLEMENT_GAS_LIMIT }
  return BigInt(await withFees(most, (call) => node.request<Hex>('eth_estimateGas', [call, 'latest'])))
}

/** Nodes ask that the sender could pay for all of the limit. One that can only pay for what is used gets the answer of price 0. */
async function withFees<T>(
  { from, to, data, gas, fees }: Settlement,
  ask: (call: Record<string, Hex>) => Promise<T>,
): Promise<T> {
  const call = { from, to, data, gas: toQuantity(gas) }
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  try {
    return await ask({
      ...call,
      maxFeePerGas: toQuantity(maxFeePerGas),
      maxPriorityFeePerGas: toQuantity(maxPriorityFeePerGas),
    })
  } catch (error) {
    if (error instanceof NodeRefusal && /insufficient funds/i.test(error.message)) return ask(call)
    throw error
  }
}

/**
 * What an OP-stack chain asks beside gas for publishing a transaction, with a quarter more for its price to rise until it is sent; zero on
 * other chains. Wei. Throws `NodeFault`.
 */
export async function readL1Fee(node: Node, raw: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi, functionName: 'getL1Fee', args: [raw] })
  const fee = toUint(await node.request<Hex>('eth_call', [{ to: GAS_PRICE_ORACLE, data }, 'latest']))
  return (fee * 5n) / 4n
}

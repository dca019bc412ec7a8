import type { Address, Hex } from '@upfront/protocol'
import { encodeFunctionData, parseAbi } from 'viem'
import type { Node } from './node.js'
import { toUint } from './settlement-call.js'

/** OP-stack predeploy; no other chain has code there. */
const GAS_PRICE_ORACLE: Address = '0x420000000000000000000000000000000000000f'
const abi = parseAbi(['function getL1Fee(bytes) view returns (uint256)'])

/**
 * What an OP-stack chain asks beside gas for publishing a transaction, with a quarter more for its price to rise until it is sent; zero on
 * other chains. Wei. Throws `NodeFault`.
 */
export async function readL1Fee(node: Node, raw: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi, functionName: 'getL1Fee', args: [raw] })
  const fee = toUint(await node.request<Hex>('eth_call', [{ to: GAS_PRICE_ORACLE, data }, 'latest']))
  return (fee * 5n) / 4n
}

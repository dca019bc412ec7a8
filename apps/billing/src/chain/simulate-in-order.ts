import type { Address, Hex } from '@upfront/protocol'
import type { Node } from './node.js'
import { NodeRefusal, Revert } from './node-error.js'
import { toQuantity } from './settlement-call.js'

/** `gas` bounds what it may use. */
export interface SequentialCall {
  from: Address
  to: Address
  data: Hex
  gas: bigint
}

interface Simulated {
  calls: { status: Hex; returnData: Hex; error?: { message: string; code: number; data?: Hex } }[]
}

/**
 * Runs calls one after another on the newest block (`eth_simulateV1`), and answers what the last returned. Throws `Revert` of the
 * first that fails, `NodeRefusal` where the node has no such method, `NodeFault`.
 */
export async function simulateInOrder(node: Node, calls: readonly SequentialCall[]): Promise<Hex> {
  const wire = calls.map(({ from, to, data, gas }) => ({ from, to, input: data, gas: toQuantity(gas) }))
  const [block] = await node.request<Simulated[]>('eth_simulateV1', [{ blockStateCalls: [{ calls: wire }] }, 'latest'])
  const results = block?.calls ?? []
  const failed = results.find(({ status }) => status !== '0x1')
  if (failed !== undefined) {
    const { message = 'reverted', code = 3, data } = failed.error ?? {}
    throw new Revert(message, code, data ?? failed.returnData)
  }
  const last = results[calls.length - 1]
  if (last === undefined) throw new NodeRefusal('eth_simulateV1 answered fewer calls than it was asked for', 0)
  return last.returnData
}

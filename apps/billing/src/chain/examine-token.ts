import type { Address, Hash, Hex } from '@upfront/protocol'
import { encodeFunctionData, erc20Abi, pad } from 'viem'
import type { Node } from './node.js'
import { NodeRefusal } from './node-error.js'
import { encodeBalanceOf, toQuantity, toUint } from './settlement-call.js'

export type TokenFinding =
  /** A transfer moves exactly its amount. */
  | 'plain'
  /** The recipient receives less than the amount, or the sender pays more. */
  | 'takes a fee on transfers'
  /** Balances are derived from other storage, so they change without transfers. */
  | 'rebases'
  /** The node can't simulate it, or the token refuses the transfer. */
  | 'unknown'

/** Unused accounts. */
const SENDER: Address = '0x00000000000000000000000000000000402c0de1'
const RECIPIENT: Address = '0x00000000000000000000000000000000402c0de2'
/** Not round, so that a fee of one millionth is visible. */
const BALANCE = 3_000_000_019n
const AMOUNT = 1_000_000_007n

interface AccessList {
  accessList: { address: Address; storageKeys: Hash[] }[]
}

/**
 * Simulates a transfer between two accounts. The sender gets a balance by overriding the storage slot that `balanceOf` reads. Changes
 * nothing. Throws `NodeFault`.
 */
export async function examineToken(node: Node, token: Address): Promise<TokenFinding> {
  try {
    const override = await giveBalance(node, token)
    if (override === null) return 'unknown'
    const [before, , sender, recipient] = await simulate(node, token, override, [
      [SENDER, encodeBalanceOf(RECIPIENT)],
      [SENDER, encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [RECIPIENT, AMOUNT] })],
      [SENDER, encodeBalanceOf(SENDER)],
      [SENDER, encodeBalanceOf(RECIPIENT)],
    ])
    if (before === undefined || sender === undefined || recipient === undefined) return 'unknown'
    if (override.balance !== BALANCE) return 'rebases'
    const isExact = BALANCE - sender === AMOUNT && recipient - before === AMOUNT
    return isExact ? 'plain' : 'takes a fee on transfers'
  } catch (error) {
    if (error instanceof NodeRefusal) return 'unknown'
    throw error
  }
}

interface Override {
  address: Address
  slot: Hash
  /** Result of `balanceOf` with the override. */
  balance: bigint
}

/** Finds the storage slot of the sender's balance; `null` if there is none. */
async function giveBalance(node: Node, token: Address): Promise<Override | null> {
  const call = { from: SENDER, to: token, data: encodeBalanceOf(SENDER) }
  const { accessList } = await node.request<AccessList>('eth_createAccessList', [call, 'latest'])
  const slots = accessList.flatMap(({ address, storageKeys }) => storageKeys.map((slot) => ({ address, slot })))
  const found: Override[] = []
  for (const { address, slot } of slots) {
    const overrides = { [address]: { stateDiff: { [slot]: pad(toQuantity(BALANCE)) } } }
    // Overriding other slots may break the call, for example the slot of a proxy's implementation.
    const answer = await node.request<Hex>('eth_call', [call, 'latest', overrides]).catch(refused)
    if (answer === null) continue
    const balance = toUint(answer)
    if (balance > 0n) found.push({ address, slot, balance })
  }
  return found.find(({ balance }) => balance === BALANCE) ?? found[0] ?? null
}

/** The result of each call as a number; `undefined` from the first failed call on. */
async function simulate(
  node: Node,
  token: Address,
  { address, slot }: Override,
  calls: readonly [from: Address, data: Hex][],
): Promise<(bigint | undefined)[]> {
  const block = {
    stateOverrides: { [address]: { stateDiff: { [slot]: pad(toQuantity(BALANCE)) } } },
    calls: calls.map(([from, data]) => ({ from, to: token, data })),
  }
  const [result] = await node.request<{ calls: { status: Hex; returnData: Hex }[] }[]>('eth_simulateV1', [
    { blockStateCalls: [block] },
    'latest',
  ])
  const results = result?.calls ?? []
  const failed = results.findIndex(({ status }) => status !== '0x1')
  return calls.map((_, index) => {
    const one = results[index]
    return one === undefined || (failed !== -1 && index >= failed) ? undefined : toUint(one.returnData)
  })
}

function refused(error: unknown): null {
  if (error instanceof NodeRefusal) return null
  throw error
}

import { Agent, request } from 'undici'

/** A JSON-RPC call. */
export interface Call {
  method: string
  params: readonly unknown[]
}

const TARGET = '0x00000000000000000000000000000000000c0de5'

/** JUMPDEST, PUSH1 0, JUMP. */
export const LOOP = '0x5b600056'
/** JUMPDEST, five PUSH0, PUSH1 0x99, GAS, CALL, POP, PUSH0, JUMP: calls an empty account in a loop. */
export const CALLS = '0x5b5f5f5f5f5f60995af1505f56'
/** PUSH0, JUMPDEST DUP1 SLOAD POP PUSH1 1 ADD PUSH1 1 JUMP */
export const SLOTS = '0x5f5b8054506001016001560000'
/** Returns 1 MiB of zeroes. */
export const RETURNS_A_MEBIBYTE = '0x621000005ff3'
/** Returns 31 KiB of zeroes. */
export const RETURNS_31_KIBIBYTES = '0x617c005ff3'
/** Fills 128 KiB of memory and calls itself with all its gas. */
export const DEEP = '0x6001620200005260005f5f5f5f305af1'
/** Init code. PUSH2 2000, JUMPDEST PUSH0 PUSH0 LOG0, PUSH1 1 SWAP1 SUB DUP1 PUSH1 3 JUMPI, STOP */
const TWO_THOUSAND_LOGS = '0x6107d05b5f5fa06001900380600357005b00'

/** Topic of `E(uint256[][][][][])`. */
const TOPIC = '0x09aae69664614ad1573e713fd5a3495df34b001ed179722ecda7c67e0573c04d'

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

export function simulation(code: string, calls: number, input = '0x'): Call {
  const call = { to: TARGET, input }
  const blockStateCalls = [{ stateOverrides: { [TARGET]: { code } }, calls: Array(calls).fill(call) }]
  return { method: 'eth_simulateV1', params: [{ blockStateCalls }, 'latest'] }
}

export function overrides(count: number): Call {
  const stateOverrides = Object.fromEntries(
    range(count).map((index) => [`0x${index.toString(16).padStart(40, '0')}`, { balance: '0x1' }]),
  )
  const blockStateCalls = [{ stateOverrides, calls: [{ to: TARGET }] }]
  return { method: 'eth_simulateV1', params: [{ blockStateCalls }, 'latest'] }
}

export function accessList(): Call {
  const overrides = { [TARGET]: { code: SLOTS, state: {} } }
  return { method: 'eth_createAccessList', params: [{ to: TARGET }, 'latest', overrides] }
}

/** An `upfront_simulate` of one call to the code. */
export function inspection(code: string, fields: object, call: object = {}): Call {
  const blockStateCalls = [{ stateOverrides: { [TARGET]: { code } }, calls: [{ to: TARGET, ...call }] }]
  return { method: 'upfront_simulate', params: [{ blockStateCalls, ...fields }, 'latest'] }
}

export function longName(length: number): Call {
  return inspection('0x00', { abi: [{ type: 'event', name: 'x'.repeat(length), inputs: [] }] })
}

/** ABI data in which each list has 20 pointers to the same next list. */
export function sharedPointers(): Call {
  const word = (value: number) => value.toString(16).padStart(64, '0')
  const level = word(20) + word(20 * 32).repeat(20)
  const input = `0x${word(32)}${level.repeat(4)}${word(20)}${word(1).repeat(20)}`
  // CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY PUSH2 380, JUMPDEST PUSH32 topic CALLDATASIZE PUSH0 LOG1, PUSH1 1 SWAP1 SUB DUP1 PUSH1 7 JUMPI
  const code = `0x365f5f3761017c5b7f${TOPIC.slice(2)}365fa1600190038060075700`
  const event = { type: 'event', name: 'E', inputs: [{ type: 'uint256[][][][][]', name: 'deep', indexed: false }] }
  return inspection(code, { abi: [event] }, { input })
}

export function traceMany(count: number): Call {
  const call = [{ data: CALLS, gas: '0xf4240' }, ['trace', 'stateDiff']]
  return { method: 'trace_callMany', params: [Array(count).fill(call), 'latest'] }
}

/** The same call by the `simulate` tool of `/mcp`. */
export function simulateTool({ params: [payload, block] }: Call): Call {
  return tool('simulate', { ...(payload as object), block })
}

/** A call of the contract by the `preview` tool. */
export function previewTool(contract: string): Call {
  return tool('preview', { to: contract })
}

function tool(name: string, given: object): Call {
  return { method: 'tools/call', params: { name, arguments: given } as never }
}

export function bodyOf({ method, params }: Call): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

/** Deploys a contract with this code through the node. @returns its address */
export async function deployed(nodeUrl: string, code: string): Promise<string> {
  const bytes = code.slice(2)
  const length = (bytes.length / 2).toString(16).padStart(4, '0')
  // PUSH2 length, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN
  const data = `0x61${length}80600a5f395ff3${bytes}`
  const answerOf = asking(nodeUrl)
  const [from] = (await answerOf('eth_accounts', [])) as string[]
  const hash = await answerOf('eth_sendTransaction', [{ from, data }])
  return ((await answerOf('eth_getTransactionReceipt', [hash])) as { contractAddress: string }).contractAddress
}

/** Seals this many blocks of 2,000 logs each. */
export async function sealLogs(nodeUrl: string, blocks: number): Promise<void> {
  const answerOf = asking(nodeUrl)
  const [from] = (await answerOf('eth_accounts', [])) as string[]
  // The node mines a block for each.
  for (const _ of range(blocks)) {
    await answerOf('eth_sendTransaction', [{ from, data: TWO_THOUSAND_LOGS, gas: '0x1c9c380' }])
  }
}

/** Seals one block with this many transactions, each of which loops through 100,000 gas. */
export async function fillBlock(nodeUrl: string, transactions: number): Promise<void> {
  const answerOf = asking(nodeUrl)
  const [from] = (await answerOf('eth_accounts', [])) as string[]
  await answerOf('evm_setAutomine', [false])
  for (const _ of range(transactions)) await answerOf('eth_sendTransaction', [{ from, data: LOOP, gas: '0x249f0' }])
  await answerOf('evm_mine', [])
  await answerOf('evm_setAutomine', [true])
}

/** Sends this many transfers at once. They are pending until they are sealed. */
export async function sealTransfers(nodeUrl: string, transfers: number): Promise<void> {
  const answerOf = asking(nodeUrl)
  const [from] = (await answerOf('eth_accounts', [])) as string[]
  await Promise.all(
    range(transfers).map(() => answerOf('eth_sendTransaction', [{ from, to: from, value: '0x1', gas: '0x5208' }])),
  )
}

function asking(nodeUrl: string): (method: string, params: unknown[]) => Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const dispatcher = new Agent()
  return async (method, params) => {
    const body = bodyOf({ method, params })
    const answer = await request(nodeUrl, { method: 'POST', headers, body, dispatcher })
    return ((await answer.body.json()) as { result: unknown }).result
  }
}

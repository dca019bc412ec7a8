import { type CallOutcome, type UpstreamCall, UpstreamError, UpstreamFault } from '@upfront/node'
import type { Address, BlockHeader, Hash, Hex } from '@upfront/protocol'
import { readKey, type StateRead } from '../engine/state.js'
import { BlockHints } from './block-hints.js'
import { pinnedState } from './pinned-state.js'

const HASH: Hash = `0x${'ab'.repeat(32)}`
const PARENT: Hash = `0x${'cd'.repeat(32)}`
const ACCOUNT: Address = `0x${'11'.repeat(20)}`
const SENDER: Address = `0x${'22'.repeat(20)}`
const SLOT: Hash = `0x${'0'.repeat(63)}7`
const header = { hash: HASH, parentHash: PARENT, number: 16n } as BlockHeader
const transaction = (gas: bigint, input: Hex = '0x12345678', to: Address | null = ACCOUNT) => ({
  ...{ from: SENDER, to, input, value: 0n, gas },
})
const calls = () => [
  ...[transaction(30_000n), transaction(40_000n), transaction(50_000n, '0x'), transaction(60_000n, '0x12', null)],
]
const at = pinnedState({ header: { ...header, hash: PARENT }, key: PARENT })
const MUCH = Array.from({ length: 32 }, (_, number): StateRead => ({ kind: 'blockHash', number: BigInt(number) }))
const NAMED = [`b${ACCOUNT}`, `n${ACCOUNT}`, `c${ACCOUNT}`, `s${ACCOUNT}${SLOT}`]

const PRESTATE = [
  { txHash: HASH, result: { [ACCOUNT]: { balance: '0x1', storage: { [SLOT]: HASH } } } },
  { error: 'timeout' },
]
const LISTED = { accessList: [{ address: ACCOUNT, storageKeys: [SLOT] }], gasUsed: '0x5208' }
const WITNESS = { state: ['0xf8'], codes: [], keys: [ACCOUNT, SLOT], headers: [] }

/** Hints from a node that serves these methods. */
function hints(served: Record<string, unknown>, asksNode = true) {
  const asked: { method: string; params: unknown }[] = []
  const probed: string[] = []
  const read: string[] = []
  const lacks: string[] = []
  const client = {
    batch: async <T>(calls: readonly UpstreamCall<T>[]): Promise<CallOutcome<T>[]> =>
      calls.map(({ method, params, decode }) => {
        asked.push({ method, params })
        const refused = (fault: UpstreamFault) => ({ error: new UpstreamError(fault, 'node', method, 1) })
        const rpc = { code: -32601, message: 'the method does not exist' }
        if (!(method in served)) return refused(new UpstreamFault('rpc-error', rpc.message, { rpc }))
        try {
          return { value: decode(served[method]) }
        } catch (error) {
          return refused(error as UpstreamFault)
        }
      }),
  }
  const queue = {
    send: async <T>({ method, params }: UpstreamCall<T>) => {
      expect(params).toEqual([])
      probed.push(method)
      const rpc =
        method in served ? { code: -32602, message: 'missing value' } : { code: -32601, message: 'no such method' }
      return { error: new UpstreamError(new UpstreamFault('rpc-error', rpc.message, { rpc }), 'node', method, 1) }
    },
  }
  const reads = {
    reference: () => ({ blockHash: PARENT }),
    askAhead: (_: unknown, all: readonly StateRead[]) => {
      read.push(...all.map(readKey))
      return all.length === 0 ? undefined : Promise.resolve()
    },
  }
  return {
    hints: new BlockHints(client, queue, reads, (feature) => lacks.push(feature), asksNode),
    ...{ asked, probed, read, lacks },
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('BlockHints', () => {
  it.each([
    ['debug_traceBlockByHash', PRESTATE],
    ['debug_executionWitness', WITNESS],
  ])('asks for %s once per block and reads the state it names in one batch', async (method, answer) => {
    const node = hints({ [method]: answer })
    const onLack = node.hints.onLack(header, calls, at)
    onLack(MUCH, 1)
    await settled()
    expect(node.asked).toEqual([])
    const more = onLack(MUCH, 2)
    await settled()
    await more?.()
    expect(node.read).toEqual(NAMED)
    onLack(MUCH, 3)
    node.hints.onLack(header, calls, at)(MUCH, 1)
    await settled()
    expect(node.asked.map((call) => call.method)).toEqual([method, method])
    expect(node.probed).toHaveLength(3)
  })

  it('asks for access lists of transactions that call a contract, the one with the most gas first', async () => {
    const node = hints({ eth_createAccessList: LISTED })
    const onLack = node.hints.onLack(header, calls, at)
    onLack(MUCH, 1)
    await settled()
    const more = onLack(MUCH, 2)
    await settled()
    await more?.()
    const call = (gas: number) => [
      { from: SENDER, to: ACCOUNT, input: '0x12345678', value: '0x0', gas: `0x${gas.toString(16)}` },
      { blockHash: PARENT },
    ]
    expect(node.asked.map(({ params }) => params)).toEqual([call(40_000), call(30_000)])
    expect(node.read).toEqual(NAMED)
  })

  it('asks for no hints if the node serves none, few reads are missing, or asking is disabled', async () => {
    const node = hints({})
    for (let times = 0; times < 3; times += 1) {
      const onLack = node.hints.onLack(header, calls, at)
      for (const round of [1, 2]) {
        onLack(MUCH, round)
        await settled()
      }
    }
    expect(node.asked).toEqual([])
    const kinds = ['debug_traceBlockByHash', 'debug_executionWitness', 'eth_createAccessList']
    expect([node.probed, node.lacks]).toEqual([kinds, kinds])
    for (const { hints: quiet, probed, lacking } of [
      { ...hints({ debug_traceBlockByHash: PRESTATE }), lacking: MUCH.slice(1) },
      { ...hints({ debug_traceBlockByHash: PRESTATE }, false), lacking: MUCH },
    ]) {
      quiet.onLack(header, calls, at)(lacking, 1)
      await settled()
      expect(probed).toEqual([])
    }
  })

  it('ignores a malformed answer', async () => {
    const node = hints({ debug_traceBlockByHash: [{ result: { x: {} } }] })
    const onLack = node.hints.onLack(header, calls, at)
    onLack(MUCH, 1)
    await settled()
    const more = onLack(MUCH, 2)
    await settled()
    expect([more?.(), node.asked.length, node.read]).toEqual([undefined, 1, []])
  })
})

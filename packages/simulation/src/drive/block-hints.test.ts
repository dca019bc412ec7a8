import { type UpstreamCall, UpstreamError, UpstreamFault } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { readKey, type StateRead } from '../engine/state.js'
import { BlockHints } from './block-hints.js'
import { InFlightReads, MergedReads } from './in-flight-reads.js'
import { pinnedState } from './pinned-state.js'

const HASH: Hash = `0x${'ab'.repeat(32)}`
const PARENT: Hash = `0x${'cd'.repeat(32)}`
const ACCOUNT = `0x${'11'.repeat(20)}`
const SLOT: Hash = `0x${'0'.repeat(63)}7`
const header = { hash: HASH, parentHash: PARENT, number: 16n } as BlockHeader
const at = pinnedState({ header: { ...header, hash: PARENT }, key: PARENT })
const MUCH = Array.from({ length: 32 }, (_, number): StateRead => ({ kind: 'blockHash', number: BigInt(number) }))
const NAMED = [`b${ACCOUNT}`, `n${ACCOUNT}`, `c${ACCOUNT}`, `s${ACCOUNT}${SLOT}`]

const PRESTATE = [
  { txHash: HASH, result: { [ACCOUNT]: { balance: '0x1', storage: { [SLOT]: HASH } } } },
  { error: 'timeout' },
]
const WITNESS = { state: ['0xf8'], codes: [], keys: [ACCOUNT, SLOT], headers: [] }

/** Hints of a node that serves these methods. */
function hints(served: Record<string, unknown>, asksNode = true) {
  const asked: { method: string; params: unknown }[] = []
  const probed: string[] = []
  const read: string[] = []
  const lacks: string[] = []
  const client = {
    call: async <T>({ method, params, decode }: UpstreamCall<T>): Promise<T> => {
      asked.push({ method, params })
      if (method in served) return decode(served[method])
      const rpc = { code: -32601, message: 'the method does not exist' }
      throw new UpstreamError(new UpstreamFault('rpc-error', rpc.message, { rpc }), 'node', method, 1)
    },
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
    askAhead: (_: unknown, all: readonly StateRead[]) => {
      read.push(...all.map(readKey))
      return new MergedReads(Promise.resolve([]), [new InFlightReads(0)], 0)
    },
  }
  const engine = { missing: (_: Hash, all: readonly StateRead[]) => [...all] }
  return {
    hints: new BlockHints(client, queue, reads, engine, (feature) => lacks.push(feature), asksNode),
    ...{ asked, probed, read, lacks },
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('BlockHints', () => {
  it.each([
    ['debug_traceBlockByHash', PRESTATE],
    ['debug_executionWitness', WITNESS],
  ])('has what %s names read in one go', async (method, answer) => {
    const node = hints({ [method]: answer })
    const onLack = node.hints.onLack(header, at)
    onLack(MUCH, 1)
    await settled()
    expect(node.asked).toEqual([])
    const more = onLack(MUCH, 2)
    await settled()
    await more?.()
    expect(node.read).toEqual(NAMED)
    onLack(MUCH, 3)
    node.hints.onLack(header, at)(MUCH, 1)
    await settled()
    expect(node.asked.map((call) => call.method)).toEqual([method, method])
    expect(node.probed).toHaveLength(2)
  })

  it('asks nothing of a node that serves neither, nor where little is lacking or nothing may be asked', async () => {
    const node = hints({})
    for (let block = 0; block < 3; block += 1) {
      const onLack = node.hints.onLack(header, at)
      for (const round of [1, 2]) {
        onLack(MUCH, round)
        await settled()
      }
    }
    expect(node.asked).toEqual([])
    expect(node.probed).toEqual(['debug_traceBlockByHash', 'debug_executionWitness'])
    expect(node.lacks).toEqual(['debug_traceBlockByHash', 'debug_executionWitness'])
    for (const { hints: quiet, probed, lacking } of [
      { ...hints({ debug_traceBlockByHash: PRESTATE }), lacking: MUCH.slice(1) },
      { ...hints({ debug_traceBlockByHash: PRESTATE }, false), lacking: MUCH },
    ]) {
      quiet.onLack(header, at)(lacking, 1)
      await settled()
      expect(probed).toEqual([])
    }
  })

  it('is not disturbed by an answer that makes no sense', async () => {
    const node = hints({ debug_traceBlockByHash: [{ result: { x: {} } }] })
    const onLack = node.hints.onLack(header, at)
    onLack(MUCH, 1)
    await settled()
    const more = onLack(MUCH, 2)
    await settled()
    expect([more?.(), node.asked.length, node.read]).toEqual([undefined, 1, []])
  })
})

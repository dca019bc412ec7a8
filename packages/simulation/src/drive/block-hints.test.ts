import { type UpstreamCall, UpstreamError, UpstreamFault } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { readKey, type StateRead } from '../engine/state.js'
import { BlockHints } from './block-hints.js'
import { Asked, Flight } from './flight.js'
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
  const reads = {
    askAhead: (_: unknown, all: readonly StateRead[]) => {
      read.push(...all.map(readKey))
      return new Asked(Promise.resolve([]), [new Flight(0)], 0)
    },
  }
  const engine = { missing: (_: Hash, all: readonly StateRead[]) => [...all] }
  return {
    hints: new BlockHints(client, reads, engine, (feature) => lacks.push(feature), asksNode),
    asked,
    read,
    lacks,
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
    const more = onLack(MUCH, 1)
    await settled()
    await more?.()
    expect(node.read).toEqual(NAMED)
    onLack(MUCH, 2)
    await settled()
    expect(node.asked.filter((call) => call.method === method)).toHaveLength(1)
  })

  it('asks once for what is not served, and for nothing where little is lacking or nothing may be asked', async () => {
    const node = hints({})
    for (let block = 0; block < 3; block += 1) {
      node.hints.onLack(header, at)(MUCH, 1)
      await settled()
      await settled()
    }
    expect(node.asked.map(({ method }) => method)).toEqual(['debug_traceBlockByHash', 'debug_executionWitness'])
    expect(node.lacks).toEqual(['debug_traceBlockByHash', 'debug_executionWitness'])
    for (const { hints: quiet, asked, lacking } of [
      { ...hints({ debug_traceBlockByHash: PRESTATE }), lacking: MUCH.slice(1) },
      { ...hints({ debug_traceBlockByHash: PRESTATE }, false), lacking: MUCH },
    ]) {
      quiet.onLack(header, at)(lacking, 1)
      await settled()
      expect(asked).toEqual([])
    }
  })

  it('is not disturbed by an answer that makes no sense', async () => {
    const node = hints({ debug_traceBlockByHash: [{ result: { x: {} } }] })
    const more = node.hints.onLack(header, at)(MUCH, 1)
    await settled()
    expect([more?.(), node.read]).toEqual([undefined, []])
  })
})

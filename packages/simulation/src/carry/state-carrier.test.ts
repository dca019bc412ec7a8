import { type CancelSignal, onAbort, UpstreamError, UpstreamFault } from '@upfront/node'
import { type BlockHeader, type Hash, ZERO_HASH } from '@upfront/protocol'
import type { BlockCarrier, BlockToCarry, Carried } from '../engine/block-carrier.js'
import type { StateLayer, StatePoint } from '../engine/state.js'
import type { Step } from '../engine/step.js'
import type { ChainRules } from '../plan/chain-rules.js'
import type { CarryEvent } from './carry-event.js'
import type { SealedBlock } from './sealed-block.js'
import { StateCarrier, type StateCarrierOptions } from './state-carrier.js'

const { jest } = import.meta
const hashOf = (number: number): Hash => `0x${number.toString(16).padStart(64, '0')}`
const rules: ChainRules = {
  ...{ chainId: 1n, stack: 'ethereum', source: 'genesis-file', blobSchedule: [], schedule: { blockTime: 12n } },
  forks: [
    { fork: 'shanghai', timestamp: 0n },
    { fork: 'cancun', timestamp: 1_050n },
  ],
}
const opRules: ChainRules = { ...rules, stack: 'optimism', forks: [{ fork: 'jovian', timestamp: 0n }] }

function block(number: number, changed: Partial<SealedBlock> = {}): SealedBlock {
  const header = {
    ...{
      hash: hashOf(number),
      parentHash: hashOf(number - 1),
      number: BigInt(number),
      timestamp: BigInt(1_000 + number),
    },
    ...{ difficulty: 0n, gasLimit: 1n, gasUsed: 0n, baseFeePerGas: 1n, extraData: '0x', miner: `0x${'0'.repeat(40)}` },
  } as Partial<BlockHeader> as BlockHeader
  return { header, transactions: [], withdrawals: [], ...changed }
}

const aborted = (signal: CancelSignal) =>
  new Promise<never>((_, reject) => onAbort(signal, () => reject(signal.reason)))

const DONE: Carried = { kind: 'carried', written: 3, sample: [] }

/** A carrier on a fake engine. */
function start(options: Partial<StateCarrierOptions> = {}) {
  const events: CarryEvent[] = []
  const asked: { block: BlockToCarry; at: StatePoint }[] = []
  const state = {
    next: (async () => ({ kind: 'done', outcome: DONE })) as () => Promise<Step<Carried>>,
    node: [] as Hash[],
    cleared: 0,
  }
  const engine: BlockCarrier = {
    carry: async (block, at, { signal }) => {
      asked.push({ block, at })
      const step = await Promise.race([state.next(), aborted(signal)])
      return step
    },
    carryListed: async () => Promise.reject(new Error('the test has no lists')),
    clearCache: () => {
      state.cleared++
    },
  }
  const driver: StateCarrierOptions['driver'] = {
    run: async (begin) => {
      const step = await begin()
      if (step.kind === 'lacking') throw new Error('the test has no values')
      return step.outcome
    },
    readAtNode: async () => state.node,
    createOnLack: () => () => undefined,
  }
  const carrier = new StateCarrier({
    ...{ rules, engine, driver, intervalMs: () => 12_000, observe: (event) => events.push(event) },
    ...options,
  })
  const reasons = () => events.map((event) => (event.kind === 'notCarried' ? event.reason : event.kind))
  return { carrier, events, asked, state, reasons }
}

describe('StateCarrier', () => {
  it('carries blocks in order onto a known parent, and reports others as orphans', async () => {
    const { carrier, asked, reasons } = start()
    await Promise.all([2, 3].map((number) => carrier.prepare(block(number), block(number - 1))))
    await carrier.prepare(block(7), block(6))
    await carrier.prepare(block(8), undefined)
    await carrier.prepare(block(4), block(2))
    expect(reasons()).toEqual(['carried', 'carried', 'carried', 'orphan', 'orphan'])
    expect(asked.map(({ at }) => at.key)).toEqual([hashOf(1), hashOf(2), hashOf(6)])
    expect(carrier.status()).toEqual({ pace: 'each', carried: 7n, counts: { carried: 3, orphan: 2 } })
    carrier.close()
  })

  it('skips blocks with undecodable transactions or unknown fork rules, and marks the first of each', async () => {
    const { carrier, reasons, events } = start()
    // The first Cancun block.
    await carrier.prepare(block(50), block(49))
    await carrier.prepare(block(51), block(50))
    await carrier.prepare(block(52, { transactions: [{ type: '0x55', hash: ZERO_HASH }] }), block(51))
    await carrier.prepare(block(53, { transactions: ['0x12'] }), block(52))
    const amsterdam = block(54)
    amsterdam.header.blockAccessListHash = ZERO_HASH
    await carrier.prepare(amsterdam, block(53))
    expect(reasons()).toEqual(['carried', 'carried', 'undecodable', 'undecodable', 'fork'])
    expect(events.map((event) => (event.kind === 'notCarried' ? event.isFirst : undefined))).toEqual([
      ...[undefined, undefined, true, false, true],
    ])
    carrier.close()
  })

  it('reports a difference, a failed read and an error, then carries the next block', async () => {
    const { carrier, state, reasons } = start()
    state.next = async () => ({ kind: 'done', outcome: { kind: 'differs', difference: 'gasUsed', detail: '1, 2' } })
    await carrier.prepare(block(2), block(1))
    state.next = () => Promise.reject(new UpstreamError(new UpstreamFault('timeout', 'late'), 'node', 'reading', 1))
    await carrier.prepare(block(2), block(1))
    state.next = () => Promise.reject(new Error('a bug'))
    await carrier.prepare(block(2), block(1))
    state.next = async () => ({ kind: 'done', outcome: DONE })
    await carrier.prepare(block(2), block(1))
    expect(reasons()).toEqual(['gasUsed', 'unreadable', 'failed', 'carried'])
    carrier.close()
  })

  it('gives the first block 4 block intervals, and a block after a carried one a single interval', async () => {
    jest.useFakeTimers()
    try {
      const { carrier, state, reasons } = start({
        intervalMs: () => 2_000,
        rules: { ...rules, schedule: { blockTime: 2n } },
      })
      const never = () => new Promise<never>(() => {})
      const late = async (number: number, within: number) => {
        let done = false
        const prepared = carrier.prepare(block(number), block(number - 1)).then(() => (done = true))
        await jest.advanceTimersByTimeAsync(within - 1)
        expect(done).toBe(false)
        await jest.advanceTimersByTimeAsync(1)
        await prepared
      }
      state.next = never
      await late(2, 8_000)
      state.next = async () => ({ kind: 'done', outcome: DONE })
      await carrier.prepare(block(3), block(2))
      state.next = never
      await late(4, 2_000)
      expect(reasons()).toEqual(['late', 'carried', 'late'])
      carrier.close()
    } finally {
      jest.useRealTimers()
    }
  })

  it('lets at most 16 blocks wait, and reports the others as behind', async () => {
    const { carrier, state, reasons } = start()
    let release = () => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    state.next = async () => {
      await gate
      return { kind: 'done', outcome: DONE }
    }
    const all = Array.from({ length: 18 }, (_, index) => carrier.prepare(block(index + 2), block(index + 1)))
    release()
    await Promise.all(all)
    expect(reasons()).toEqual(['behind', 'behind', ...Array.from({ length: 16 }, () => 'carried')])
    carrier.close()
  })

  it('slows down, then stops, if every executed block differs', async () => {
    const { carrier, state, reasons } = start()
    state.next = async () => ({ kind: 'done', outcome: { kind: 'differs', difference: 'receiptsRoot', detail: '' } })
    for (let number = 2; number < 30; number++) {
      await carrier.prepare(block(number), block(number - 1))
    }
    expect(reasons().filter((reason) => reason === 'receiptsRoot')).toHaveLength(16)
    expect(reasons().filter((reason) => reason === 'pace')).toHaveLength(2)
    expect(carrier.status().pace).toBe('off')
    carrier.close()
  })

  it('stops for good and forgets its state if the node contradicts a carried value', async () => {
    const { carrier, state, reasons, events } = start({ auditEveryMs: 5 })
    const sampled = { read: { kind: 'nonce', address: `0x${'1'.repeat(40)}` }, value: 5n } as const
    state.next = async () => ({ kind: 'done', outcome: { ...DONE, sample: [sampled] } as Carried })
    state.node = [hashOf(5)]
    const until = async (condition: () => boolean) => {
      while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await carrier.prepare(block(2), block(1))
    await until(() => events.some(({ kind }) => kind === 'audited'))
    state.node = [hashOf(6)]
    await carrier.prepare(block(3), block(2))
    await until(() => events.some(({ kind }) => kind === 'distrusted'))
    expect(state.cleared).toBe(1)
    await carrier.prepare(block(4), block(3))
    expect(reasons()).toEqual(['carried', 'audited', 'carried', 'distrusted', 'paused'])
    expect(carrier.status().pace).toBe('distrusted')
    carrier.close()
  })

  it('forgets a block that was being carried when the node contradicted a value', async () => {
    const { carrier, state, reasons } = start({ auditEveryMs: 20 })
    const sampled = { read: { kind: 'nonce', address: `0x${'1'.repeat(40)}` }, value: 5n } as const
    state.next = async () => ({ kind: 'done', outcome: { ...DONE, sample: [sampled] } as Carried })
    state.node = [hashOf(6)]
    await carrier.prepare(block(2), block(1))
    state.next = async () => {
      while (!reasons().includes('distrusted')) await new Promise((resolve) => setTimeout(resolve, 2))
      return { kind: 'done', outcome: DONE }
    }
    await carrier.prepare(block(3), block(2))
    expect(reasons()).toEqual(['carried', 'distrusted', 'paused'])
    expect(state.cleared).toBe(2)
    carrier.close()
  })

  it('audits the first block at once with auditsFirst', async () => {
    const { carrier, state, reasons } = start({ auditsFirst: true })
    const sampled = { read: { kind: 'nonce', address: `0x${'1'.repeat(40)}` }, value: 5n } as const
    state.next = async () => ({ kind: 'done', outcome: { ...DONE, sample: [sampled] } as Carried })
    state.node = [hashOf(6)]
    await carrier.prepare(block(2), block(1))
    while (!reasons().includes('distrusted')) await new Promise((resolve) => setTimeout(resolve, 2))
    expect(reasons()).toEqual(['carried', 'distrusted'])
    carrier.close()
  })

  it('forgets its state if requests dispute a carried value, and stops for good on the fourth dispute', async () => {
    const { carrier, state, reasons } = start()
    state.next = async () => ({
      kind: 'done',
      outcome: { kind: 'differs', difference: 'conflictingValue', detail: 'Balance' },
    })
    const paces: string[] = []
    for (let time = 0; time < 5; time++) {
      await carrier.prepare(block(2), block(1))
      paces.push(carrier.status().pace)
    }
    expect(paces).toEqual(['each', 'each', 'each', 'distrusted', 'distrusted'])
    expect(reasons()).toEqual(['conflictingValue', 'conflictingValue', 'conflictingValue', 'distrusted', 'paused'])
    expect(state.cleared).toBe(5)
    carrier.close()
  })

  it('reuses already executed transactions of a block on OP-stack chains, not on Ethereum', async () => {
    const layer: StateLayer = { id: 'a', accounts: new Map() }
    const receipt = { cumulativeGasUsed: 5n } as BlockToCarry['earlierReceipts'][number]
    const executed = () => ({ layers: [layer], receipts: [receipt] })
    for (const [chain, layers] of [
      [opRules, [layer]],
      [rules, []],
    ] as const) {
      const { carrier, asked } = start({ executed, rules: chain })
      await carrier.prepare(block(2), block(1))
      expect(asked[0]).toMatchObject({
        at: { layers },
        block: { earlierReceipts: layers.length === 0 ? [] : [receipt] },
      })
      carrier.close()
    }
  })
})

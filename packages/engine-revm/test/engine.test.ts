import { readFileSync } from 'node:fs'
import {
  blockHeaderFromRpc,
  DEFAULT_SIMULATION_LIMITS,
  decodeSimulationRequest,
  type Hash,
  type Hex,
  RpcError,
  ZERO_HASH,
} from '@upfront/protocol'
import {
  planSimulation,
  type SimulationPlan,
  type StateLayer,
  type StateRead,
  type StateSource,
} from '@upfront/simulation'
import { readGenesis } from '../../engine-ethereumjs/test/genesis-state.js'
import { createRevmEngine, loadRevm, type RevmEngine } from '../src/index.js'

const file = (path: string) => new URL(path, import.meta.url).pathname
const { rules } = readGenesis(file('../../engine-ethereumjs/test/genesis.json'))
const base = blockHeaderFromRpc(JSON.parse(readFileSync(file('./differential/genesis-block.json'), 'utf8')))

const available = loadRevm()
if (available.addon === undefined) console.log(`the tests of the native engine are skipped: ${available.reason}`)
const describeIf = available.addon === undefined ? describe.skip : describe

const ALICE = `0x${'a1'.repeat(20)}` as const
const BOB = `0x${'b0'.repeat(20)}` as const
const PROGRAM = `0x${'c0'.repeat(20)}` as const
/** Returns slot 1. */
const READS_SLOT_1 = '0x60015460005260206000f3'
const ENDLESS = '0x5b600056'

function plan(block: object): SimulationPlan {
  const limits = { ...DEFAULT_SIMULATION_LIMITS, gas: 1n << 60n }
  return planSimulation(decodeSimulationRequest([{ blockStateCalls: [block] }, 'latest'], limits), base, rules, limits)
}

function reading(program: Hex): SimulationPlan {
  return plan({
    stateOverrides: {
      [PROGRAM]: { code: program, balance: '0x0', nonce: '0x0' },
      [ALICE]: { balance: '0x0', nonce: '0x0', code: '0x' },
    },
    blockOverrides: { gasLimit: '0xfffffffffffff' },
    calls: [{ from: ALICE, to: PROGRAM }],
  })
}

let keys = 0
/** A state in which every word is 7; its key is a new one. */
function source(overrides: Partial<StateSource> = {}): StateSource & { reads: StateRead[]; batches: number } {
  const key: Hash = `0x${(++keys).toString(16).padStart(64, '0')}`
  const own = {
    key,
    blockNumber: base.number,
    layers: [],
    reads: [] as StateRead[],
    batches: 0,
    read: async (reads: readonly StateRead[]) => {
      own.batches++
      own.reads.push(...reads)
      return reads.map(({ kind }) => {
        if (kind === 'code') return '0x' as const
        return kind === 'storage' || kind === 'blockHash' ? (ZERO_HASH.replace(/0$/, '7') as Hash) : 7n
      })
    },
    ...overrides,
  }
  return own
}

describeIf('the native engine', () => {
  let engine: RevmEngine
  beforeEach(() => {
    engine = createRevmEngine()
  })
  afterEach(() => engine.close())
  const never = new AbortController().signal

  const returned = async (plan: SimulationPlan, state: StateSource) =>
    BigInt((await engine.simulate(plan, state, never)).blocks[0]?.calls[0]?.returnData ?? '0x')

  it('names the version of revm that Cargo.lock pins', () => {
    const lock = readFileSync(file('../Cargo.lock'), 'utf8')
    expect(engine.version).toBe(/^name = "revm"\r?\nversion = "(.+)"/m.exec(lock)?.[1])
  })

  it('reads nothing of a thousand accounts that overrides replace and no call touches', async () => {
    const accounts = Array.from(
      { length: 1_000 },
      (_, index) => `0x${(0x50000000 + index).toString(16).padStart(40, '0')}`,
    )
    const whole = { balance: '0x1', nonce: '0x1', code: '0x' }
    const stateOverrides = Object.fromEntries([...accounts, ALICE, BOB].map((address) => [address, whole]))
    const state = source()
    await engine.simulate(plan({ stateOverrides, calls: [{ from: ALICE, to: BOB, value: '0x1' }] }), state, never)
    expect(state.reads).toEqual([])
  })

  it('reads a value once for all simulations on one block', async () => {
    const state = source()
    await Promise.all(Array.from({ length: 20 }, () => returned(reading(READS_SLOT_1), state)))
    expect(await returned(reading(READS_SLOT_1), state)).toBe(7n)
    expect(state.reads.filter(({ kind }) => kind === 'storage')).toHaveLength(1)
  })

  it('fails with the very error that the state failed with, and asks again the next time', async () => {
    const failure = new RpcError(-32603, 'the node is down')
    let down = true
    const state = source()
    const read = state.read.bind(state)
    state.read = (reads, signal) => (down ? Promise.reject(failure) : read(reads, signal))
    await expect(returned(reading(READS_SLOT_1), state)).rejects.toBe(failure)
    down = false
    expect(await returned(reading(READS_SLOT_1), state)).toBe(7n)
  })

  it('does not fail for another request that gave up on the same value', async () => {
    let asked: () => void = () => {}
    const whenAsked = new Promise<void>((resolve) => (asked = resolve))
    const silent = source({
      read: (_reads, signal) => {
        asked()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    })
    const answering = source({ key: silent.key })
    const impatient = new AbortController()
    const first = engine.simulate(reading(READS_SLOT_1), silent, impatient.signal)
    const given = expect(first).rejects.toThrow('enough')
    await whenAsked
    const second = returned(reading(READS_SLOT_1), answering)
    impatient.abort(new Error('enough'))
    await given
    expect(await second).toBe(7n)
  })

  it('stops a runaway call when it is told to, and goes on with others', async () => {
    const engineOfOne = createRevmEngine({ threads: 1 })
    const state = source()
    const stopping = new AbortController()
    const running = engineOfOne.simulate(reading(ENDLESS), state, stopping.signal)
    setTimeout(() => stopping.abort(new Error('time is up')), 50)
    await expect(running).rejects.toThrow('time is up')
    const { blocks } = await engineOfOne.simulate(reading(READS_SLOT_1), state, never)
    expect(blocks[0]?.calls[0]?.succeeded).toBe(true)
    await engineOfOne.close()
  })

  it('does not start what was given up before', async () => {
    await expect(engine.simulate(reading(ENDLESS), source(), AbortSignal.abort(new Error('gone')))).rejects.toThrow(
      'gone',
    )
  })

  it('refuses more than it can queue, as a server that is busy', async () => {
    const small = createRevmEngine({ threads: 1, queue: 1 })
    const stopping = new AbortController()
    const state = source()
    const runs = Array.from({ length: 8 }, () => small.simulate(reading(ENDLESS), state, stopping.signal))
    const results = Promise.allSettled(runs)
    setTimeout(() => stopping.abort(new Error('done')), 100)
    const reasons = (await results).map((result) => (result.status === 'rejected' ? result.reason : undefined))
    const refused = reasons.filter((reason) => reason instanceof RpcError)
    expect(refused.length).toBeGreaterThan(0)
    for (const reason of refused) expect(reason).toMatchObject({ code: -32005, httpStatus: 503 })
    await small.close()
  })

  it('sees pre-confirmed layers above the pinned block, newest first', async () => {
    const layer = (id: string, value: number): StateLayer => {
      const slot: [Hash, Hash] = [`0x${'1'.padStart(64, '0')}`, `0x${value.toString(16).padStart(64, '0')}`]
      return { id, accounts: new Map([[PROGRAM, { storageCleared: false, storage: new Map([slot]) }]]) }
    }
    const one = layer('one', 1)
    const pinned = source()
    expect(await returned(reading(READS_SLOT_1), { ...pinned, layers: [one] })).toBe(1n)
    expect(await returned(reading(READS_SLOT_1), { ...pinned, layers: [one, layer('two', 2)] })).toBe(2n)
    // More layers than are kept: the first has to cross the border again.
    for (let count = 0; count < 200; count++) {
      await returned(reading(READS_SLOT_1), { ...pinned, layers: [layer(`later ${count}`, 3)] })
    }
    expect(await returned(reading(READS_SLOT_1), { ...pinned, layers: [one] })).toBe(1n)
    expect(await returned(reading(READS_SLOT_1), pinned)).toBe(7n)
  })

  it('rejects what runs when it is closed', async () => {
    const closing = createRevmEngine()
    const running = closing.simulate(reading(ENDLESS), source(), never)
    const rejected = expect(running).rejects.toThrow('closed')
    await closing.close()
    await rejected
    await expect(closing.simulate(reading(READS_SLOT_1), source(), never)).rejects.toThrow('closed')
  })
})

import type { Cancellation } from '@upfront/node'
import { type Hash, type Hex, RpcError } from '@upfront/protocol'
import {
  type Answer,
  answerBlocks,
  type Engine,
  type Lacking,
  readKey,
  type SimulationPlan,
  type StateLayer,
  type StatePoint,
  type StateRead,
} from '@upfront/simulation'
import {
  COUNTER,
  callPlan,
  codePlan,
  developmentState,
  ENDLESS_LOOP,
  NOBODY,
  planOf,
  RICH,
  withoutGasLimit,
} from './development-chain.js'
import { drive, type ValueSource } from './drive.js'
import { NEVER } from './simulated.js'
import type { StateValues } from './state-values.js'

export interface ContractOptions {
  threads?: number
  cacheBytes?: number
  queue?: number
}

const transfer = callPlan({ from: RICH, to: NOBODY, value: '0x5' })
const count = callPlan({ from: RICH, to: COUNTER })
const endless = withoutGasLimit(codePlan(ENDLESS_LOOP))
const word = (value: number): Hash => `0x${value.toString(16).padStart(64, '0')}`

/** Tests of the contract of every engine at the seam. Call it within a `describe`. */
export function itKeepsTheContract(create: (options?: ContractOptions) => Engine): void {
  let engine: Engine
  let state: StateValues
  let at: StatePoint
  let states = 0

  const newPoint = (layers: StateLayer[] = []): StatePoint => ({ key: word(++states), layers })
  /** Turns synchronous errors into rejections. */
  const begin = async (plan: SimulationPlan, point = at, cancellation: Cancellation = NEVER) =>
    engine.begin(plan, point, cancellation)
  const run = async (plan: SimulationPlan, point = at, source: ValueSource = state) => drive(begin(plan, point), source)
  const returned = (answer: Answer) => answerBlocks(answer, 'ethereum').map(({ calls }) => BigInt(calls[0]!.returnData))

  async function lacking(
    plan: SimulationPlan,
    point = at,
    cancellation: Cancellation = NEVER,
  ): Promise<Lacking<Answer>> {
    const step = await begin(plan, point, cancellation)
    if (step.kind === 'done') throw new Error('it lacks nothing')
    return step
  }

  beforeEach(() => {
    engine = create()
    state = developmentState().state
    at = newPoint()
  })

  afterEach(() => engine.close())

  it('returns the missing reads, resumes with their values, and has them afterwards', async () => {
    const answer = await run(transfer)
    expect(state.reads.length).toBeGreaterThan(0)
    const again = await begin(transfer)
    expect(again).toEqual({ kind: 'done', outcome: answer })
    expect(engine.missing(at.key, state.reads)).toEqual([])
  })

  it('requests no value twice, whatever runs on the state', async () => {
    const plans = [transfer, count, planOf({ blockStateCalls: [{}, { calls: [{ from: NOBODY, to: COUNTER }] }] })]
    for (const plan of plans) await run(plan)
    const keys = state.reads.map(readKey)
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
  })

  it('accepts values in advance, for one state only', async () => {
    await run(count)
    const reads = state.reads
    const ahead = newPoint()
    expect(engine.missing(ahead.key, reads)).toEqual(reads)
    const values = developmentState().state.read(reads)
    engine.provide(ahead.key, reads, values)
    expect(engine.known(ahead.key, reads)).toEqual(values)
    expect(await begin(count, ahead)).toMatchObject({ kind: 'done' })
    expect(engine.known(newPoint().key, reads)).toEqual(reads.map(() => undefined))
  })

  it('returns known values at their positions', () => {
    const reads: StateRead[] = [
      { kind: 'balance', address: RICH },
      { kind: 'storage', address: COUNTER, slot: word(0) },
      { kind: 'nonce', address: RICH },
      { kind: 'code', address: RICH },
      { kind: 'blockHash', number: 7n },
    ]
    engine.provide(at.key, reads.slice(1, 3), [word(9), 5n])
    expect(engine.known(at.key, reads)).toEqual([undefined, word(9), 5n, undefined, undefined])
    expect(engine.missing(at.key, reads)).toEqual([reads[0], reads[3], reads[4]])
  })

  it('uses the newest layer’s values, and requests none that a layer has', async () => {
    const layer = (id: string, value: number): StateLayer => ({
      id: `contract ${states} ${id}`,
      accounts: new Map([[COUNTER, { storageCleared: false, storage: new Map([[word(0), word(value)]]) }]]),
    })
    const one = layer('one', 40)
    const { key } = at
    expect(returned(await run(count, { key, layers: [one] }))).toEqual([41n])
    expect(returned(await run(count, { key, layers: [one, layer('two', 50)] }))).toEqual([51n])
    expect(state.reads.filter((read) => read.kind === 'storage' && read.address === COUNTER)).toEqual([])
    expect(returned(await run(count))).toEqual([6n])
  })

  it('runs other plans while many wait for their state', async () => {
    const waiting = await Promise.all(Array.from({ length: 20 }, () => lacking(count)))
    await run(transfer, newPoint())
    const values = (step: Lacking<Answer>) => state.read(step.reads)
    const answers = await Promise.all(waiting.reverse().map((step) => drive(step.resume(values(step)), state)))
    expect(answers.flatMap(returned)).toEqual(Array(20).fill(6n))
  })

  it('resumes a plan after another one that waits for the same values is abandoned', async () => {
    const [left, stayed] = await Promise.all([lacking(count), lacking(count)])
    left!.abandon()
    expect(returned(await drive(stayed!.resume(state.read(stayed!.reads)), state))).toEqual([6n])
  })

  it('runs further plans after a failed read', async () => {
    const reason = new RpcError(-32603, 'the node is down')
    await expect(run(count, at, { read: () => Promise.reject(reason) })).rejects.toBe(reason)
    expect(returned(await run(count))).toEqual([6n])
  })

  it('stops execution when the signal is aborted, with its reason', async () => {
    engine = await replaced(engine, create({ threads: 1 }))
    const abort = new AbortController()
    const running = drive(begin(endless, at, abort), state)
    setTimeout(() => abort.abort(new Error('enough')), 50)
    await expect(running).rejects.toThrow('enough')
    await run(transfer)
  })

  it('neither resumes nor starts once the signal is aborted', async () => {
    const abort = new AbortController()
    const step = await lacking(endless, at, abort)
    abort.abort(new Error('enough'))
    await expect((async () => step.resume(state.read(step.reads)))()).rejects.toThrow('enough')
    await expect(drive(begin(endless, at, abort), state)).rejects.toThrow('enough')
  })

  it('rejects an answer longer than the plan allows', async () => {
    const plan = codePlan('0x6103e85ff3')
    const { pieces } = await run(plan)
    const answerBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    expect(answerBytes).toBeGreaterThan(2_000)
    await run({ ...plan, answerBytes })
    const refused = run({ ...plan, answerBytes: answerBytes - 1 })
    await expect(refused).rejects.toBeInstanceOf(RpcError)
    await expect(refused).rejects.toMatchObject({ code: -32005, message: expect.stringContaining('longer than') })
  })

  it('splits the answer at the places of the errors', async () => {
    const calls = ['0x', '0x01', '0x'].map((input) => ({ from: RICH, to: NOBODY, input }))
    // REVERT if there is input: CALLDATASIZE, PUSH1, JUMPI.
    const code = '0x36600557005b5f5ffd'
    const plan = planOf({ blockStateCalls: [{ stateOverrides: { [NOBODY]: { code } }, calls }, { calls }] })
    const { pieces, failures } = await run(plan)
    expect(failures).toEqual(Array(2).fill({ failure: { kind: 'revert' }, returnData: '0x' }))
    expect(pieces).toHaveLength(3)
    for (const piece of pieces.slice(0, -1)) expect(piece.toString()).toMatch(/"status":"0x0"$/)
    expect(JSON.parse(pieces.join(''))).toHaveLength(2)
  })

  it('rejects plans beyond its queue with -32005 and HTTP 503', async () => {
    engine = await replaced(engine, create({ threads: 1, queue: 1 }))
    await run(transfer)
    const abort = new AbortController()
    const many = Array.from({ length: 8 }, () => drive(begin(endless, at, abort), state))
    const refusal = await Promise.race(many.map((one) => one.catch((error: unknown) => error)))
    abort.abort(new Error('enough'))
    await Promise.allSettled(many)
    expect(refusal).toMatchObject({ code: -32005, httpStatus: 503 })
  })

  it('keeps the cache within its limit by evicting the least recently used states whole', async () => {
    engine = await replaced(engine, create({ cacheBytes: 400_000 }))
    const read: StateRead = { kind: 'code', address: COUNTER }
    const codeOf = (index: number): Hex => `0x${index.toString(16).padStart(4, '0').repeat(5_000)}`
    const points = Array.from({ length: 100 }, () => newPoint())
    for (const [index, { key }] of points.entries()) {
      engine.provide(points[0]!.key, [{ kind: 'nonce', address: RICH }], [1n])
      engine.provide(key, [read], [codeOf(index)])
    }
    const kept = points.map(({ key }) => engine.missing(key, [read]).length === 0)
    const first = kept.lastIndexOf(false) + 1
    expect(first).toBeGreaterThan(50)
    expect(first).toBeLessThan(100)
    expect(kept.slice(1, first)).toEqual(Array(first - 1).fill(false))
    expect(kept[0]).toBe(true)
  })

  it('rejects running plans when it is closed, and all plans afterwards', async () => {
    const running = drive(begin(endless), state)
    const waiting = await lacking(transfer, newPoint())
    await Promise.all([expect(running).rejects.toThrow('closed'), engine.close()])
    await expect((async () => waiting.resume(state.read(waiting.reads)))()).rejects.toThrow('closed')
    await expect(begin(transfer)).rejects.toThrow('closed')
  })
}

async function replaced(old: Engine, next: Engine): Promise<Engine> {
  await old.close()
  return next
}

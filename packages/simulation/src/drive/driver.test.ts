import type { CallOutcome, CallQueue, UpstreamCall, UpstreamClient } from '@upfront/node'
import { UpstreamError, UpstreamFault } from '@upfront/node'
import { type Address, RpcError } from '@upfront/protocol'
import { aHeader, ethereumRules } from '../../test/fixtures.js'
import { ScriptedEngine } from '../../test/scripted-engine.js'
import type { PinnedBlock } from '../block/pinned-block.js'
import type { StateRead } from '../engine/state.js'
import { NO_RECORDING } from '../plan/recording.js'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { Driver } from './driver.js'
import { pinnedState } from './pinned-state.js'
import { ReadBudget } from './read-budget.js'

const address = (n: number): Address => `0x${(0xaa_0000 + n).toString(16).padStart(40, '0')}`
const balance = (n: number): StateRead => ({ kind: 'balance', address: address(n) })
const header = aHeader()
const block: PinnedBlock = { header, key: header.hash }
const at = pinnedState(block)
/** An empty plan, which needs no reads. */
const plan: SimulationPlan = {
  rules: ethereumRules(),
  base: header,
  baseRules: { fork: 'prague' },
  blocks: [],
  validation: false,
  traceTransfers: false,
  returnFullTransactions: false,
  gasBudget: 0n,
  answerBytes: 1_000,
  recording: NO_RECORDING,
}

/** A node that answers on demand. The balance of `address(n)` is n. */
class HeldNode {
  readonly asked: string[] = []
  #held: (() => void)[] = []
  fails: boolean | ((asked: string) => boolean) = false

  readonly queue = {
    sendAll: (calls: UpstreamCall<unknown>[]) => Promise.all(calls.map((call) => this.#send(call))),
    send: (call: UpstreamCall<unknown>) => this.#send(call),
  } as unknown as CallQueue

  /** Answers all pending calls. */
  answer(): void {
    for (const answer of this.#held.splice(0)) answer()
  }

  #send(call: UpstreamCall<unknown>): Promise<CallOutcome<unknown>> {
    const asked = String(call.params)
    this.asked.push(asked)
    return new Promise((resolve) => {
      this.#held.push(() => {
        const failure = new UpstreamError(new UpstreamFault('timeout', 'silent'), 'node', call.method, 1)
        const value = BigInt(`0x${/0x0*aa(....)"/.exec(asked)?.[1]}`)
        const fails = typeof this.fails === 'function' ? this.fails(asked) : this.fails
        resolve(fails ? { error: failure } : { value })
      })
    })
  }
}

function limits(limit = 100, deadline = Number.POSITIVE_INFINITY) {
  const cancellation = new AbortController()
  return { budget: new ReadBudget(limit, deadline), cancellation }
}

describe('Driver', () => {
  let node: HeldNode
  let engine: ScriptedEngine
  let driver: Driver

  beforeEach(() => {
    node = new HeldNode()
    engine = new ScriptedEngine()
    driver = new Driver(engine, { label: 'node', observer: {} } as UpstreamClient, node.queue)
  })

  /** Answers calls until the work is done. */
  async function done<T>(work: T | Promise<T>): Promise<T> {
    let isDone = false
    const ended = Promise.resolve(work).finally(() => (isDone = true))
    ended.catch(() => undefined)
    while (!isDone) {
      await new Promise(setImmediate)
      node.answer()
    }
    return ended
  }

  it('answers at once, without asking the node, if no state is missing', () => {
    expect(driver.simulate(plan, at, limits())).toMatchObject({ pieces: ['[]'] })
    expect(node.asked).toEqual([])
  })

  it('reads missing state round by round and counts the reads', async () => {
    engine.script = [[balance(1), balance(2)], [balance(2)], [balance(3)]]
    const request = limits()
    await done(driver.simulate(plan, at, request))
    expect(engine.lacked).toEqual([[balance(1), balance(2)], [balance(3)]])
    expect(engine.known(at.key, [balance(1), balance(2), balance(3)])).toEqual([1n, 2n, 3n])
    expect(request.budget.used).toBe(3)
    expect(node.asked).toHaveLength(3)
  })

  it('drops guessed reads beyond their own limit and does not refuse the request for them', async () => {
    const [needed, ...guessed] = [1, 2, 3, 4, 5].map(balance)
    engine.certain = 1
    engine.script = [[needed!, ...guessed], [balance(6)]]
    const request = limits(2)
    await expect(done(driver.simulate(plan, at, request))).rejects.toThrow('reads more than 2 values')
    // Two guesses come with the first read, then none are left: only needed reads count against the request.
    expect(engine.lacked).toEqual([[needed, ...guessed], guessed.slice(2), guessed.slice(3)])
    expect(node.asked).toHaveLength(4)
    expect(request.budget.guessesLeft).toBe(0)
    engine.script = [[balance(7), balance(8)]]
    await expect(done(driver.simulate(plan, at, limits(1)))).resolves.toBeDefined()
  })

  it('still reads many values at a time if all guesses turn out to be needed', async () => {
    const rest = Array.from({ length: 400 }, (_, index) => balance(index + 1))
    engine.certain = 1
    engine.script = [rest]
    const asked = driver.simulate(plan, at, limits(100))
    await expect(done(asked)).rejects.toThrow('reads more than 100 values')
    // 100 guesses with the first read, then half of the remaining needed reads, and half again.
    expect(engine.lacked.length).toBeLessThan(12)
    expect(node.asked.length).toBeGreaterThan(195)
  })

  it('counts guesses as needed reads once the limit of guesses is reached and nothing else is missing', async () => {
    engine.certain = 0
    engine.script = [1, 2, 3, 4, 5].map((number) => [balance(number)])
    await expect(done(driver.simulate(plan, at, limits(2)))).rejects.toThrow('reads more than 2 values')
    expect(node.asked).toHaveLength(4)
  })

  it('asks once for a value that two requests need at the same time', async () => {
    engine.script = [[balance(1)]]
    const both = Promise.all([driver.simulate(plan, at, limits()), driver.simulate(plan, at, limits())])
    await done(both)
    expect(engine.lacked).toHaveLength(2)
    expect(node.asked).toHaveLength(1)
  })

  it('does not share reads between different states', async () => {
    engine.script = [[balance(1)]]
    const other = pinnedState({ header, key: `0x${'ee'.repeat(32)}` })
    await done(Promise.all([driver.simulate(plan, at, limits()), driver.simulate(plan, other, limits())]))
    expect(node.asked).toHaveLength(2)
  })

  it('continues a shared read if one of its two requests is cancelled', async () => {
    engine.script = [[balance(1)]]
    const leaving = limits()
    const left = driver.simulate(plan, at, leaving)
    const stayed = driver.simulate(plan, at, limits())
    const rejected = expect(left).rejects.toThrow('left')
    leaving.cancellation.abort(new Error('left'))
    await rejected
    expect(engine.abandoned).toBe(1)
    await done(stayed)
    expect(node.asked).toHaveLength(1)
  })

  it('abandons work and rejects with the read’s error if a read fails', async () => {
    engine.script = [[balance(1)]]
    node.fails = true
    await expect(done(driver.simulate(plan, at, limits()))).rejects.toBeInstanceOf(UpstreamError)
    expect(engine.abandoned).toBe(1)
    node.fails = false
    await done(driver.simulate(plan, at, limits()))
  })

  it('starts again after a failed read, and succeeds if the value is not needed', async () => {
    const scripts = [[[balance(1), balance(2)]], [[balance(1)], [balance(3)]]]
    const begin = engine.begin.bind(engine)
    engine.begin = (...args) => {
      engine.script = scripts.shift()!
      return begin(...args)
    }
    node.fails = (asked) => asked.includes(address(2))
    await done(driver.simulate(plan, at, limits()))
    expect(engine.lacked).toEqual([[balance(1), balance(2)], [balance(3)]])
    expect(engine.abandoned).toBe(1)
    expect(node.asked).toHaveLength(3)
  })

  it('rejects once only values that could not be read are missing', async () => {
    engine.script = [[balance(1), balance(2)], [balance(3)]]
    node.fails = (asked) => asked.includes(address(2))
    await expect(done(driver.simulate(plan, at, limits()))).rejects.toBeInstanceOf(UpstreamError)
    expect(engine.lacked).toEqual([[balance(1), balance(2)], [balance(2)]])
    expect(engine.abandoned).toBe(2)
    expect(node.asked).toHaveLength(2)
  })

  it('abandons work and returns -32005 if it exceeds the read limit of its request', async () => {
    engine.script = [[balance(1), balance(2)], [balance(3)]]
    const refused = done(driver.simulate(plan, at, limits(2)))
    await expect(refused).rejects.toBeInstanceOf(RpcError)
    await expect(refused).rejects.toMatchObject({ code: -32005, data: { limit: 2 } })
    expect(engine.abandoned).toBe(1)
    expect(node.asked).toHaveLength(2)
  })

  it('abandons work with a timeout at the deadline', async () => {
    engine.script = [[balance(1)]]
    await expect(driver.simulate(plan, at, limits(100, performance.now()))).rejects.toMatchObject({
      data: { fault: 'timeout' },
    })
    expect(engine.abandoned).toBe(1)
  })

  it('reads values through layers, then the engine, then the node', async () => {
    engine.provide(at.key, [balance(2)], [20n])
    const change = { balance: 10n, storageCleared: false, storage: new Map() }
    const layered = pinnedState(block, [{ id: 'layer', accounts: new Map([[address(1), change]]) }])
    const read = driver.read([balance(3), balance(2), balance(1)], layered, limits())
    expect(await done(read)).toEqual([3n, 20n, 10n])
    expect(node.asked).toHaveLength(1)
    expect(engine.known(at.key, [balance(3)])).toEqual([3n])
  })

  it('gives the engine values that are read ahead, and ignores failed reads', async () => {
    driver.readAhead([balance(1)], at)
    node.fails = true
    node.answer()
    await new Promise(setImmediate)
    expect(engine.known(at.key, [balance(1)])).toEqual([undefined])
    node.fails = false
    driver.readAhead([balance(1)], at)
    node.answer()
    await new Promise(setImmediate)
    expect(engine.known(at.key, [balance(1)])).toEqual([1n])
  })
})

import { readFileSync } from 'node:fs'
import {
  COUNTER,
  callPlan,
  codePlan,
  developmentState,
  NOBODY,
  RICH,
  simulated,
  underLayers,
} from '@upfront/engine-conformance'
import type { Hash } from '@upfront/protocol'
import type { StateLayer } from '@upfront/simulation'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'

const MIB = 1024 * 1024
const word = (value: number): Hash => `0x${value.toString(16).padStart(64, '0')}`
const count = callPlan({ from: RICH, to: COUNTER })

describe.each(BUILDS)('an engine, on the %s build', (_build, create) => {
  let engine: RevmEngine
  beforeEach(() => {
    engine = create()
  })
  afterEach(() => engine.close())

  it('reports the version of revm that Cargo.lock pins', () => {
    const lock = readFileSync(new URL('../Cargo.lock', import.meta.url), 'utf8')
    expect(engine.version).toBe(/^name = "revm"\r?\nversion = "(.+)"/m.exec(lock)?.[1])
  })

  it('reads nothing of 1,000 accounts that overrides replace completely', async () => {
    const accounts = Array.from(
      { length: 1_000 },
      (_, index) => `0x${(0x50000000 + index).toString(16).padStart(40, '0')}`,
    )
    const whole = { balance: '0x1', nonce: '0x1', code: '0x' }
    const stateOverrides = Object.fromEntries([...accounts, RICH, NOBODY].map((address) => [address, whole]))
    const source = developmentState().state
    await simulated(engine, callPlan({ from: RICH, to: NOBODY, value: '0x1' }, stateOverrides), { source })
    const read = source.reads.flatMap((one) => (one.kind === 'blockHash' ? [] : [one.address]))
    expect(read.filter((address) => address in stateOverrides)).toEqual([])
  })

  it('accepts layers again after it has dropped them', async () => {
    const layer = (id: string, value: number): StateLayer => ({
      id,
      accounts: new Map([[COUNTER, { storageCleared: false, storage: new Map([[word(0), word(value)]]) }]]),
    })
    const counted = async (...layers: StateLayer[]) => {
      const { blocks } = await simulated(engine, count, { at: underLayers(...layers) })
      return Number(blocks[0]!.calls[0]!.returnData)
    }
    const first = layer('first', 1)
    expect(await counted(first)).toBe(2)
    // More layers than it keeps.
    for (let index = 0; index < 200; index++) await counted(layer(`later ${index}`, 3))
    expect(await counted(first)).toBe(2)
  })

  it('returns an answer of 128 KiB as bytes', async () => {
    // RETURN of 128 KiB.
    const { pieces, blocks } = await simulated(engine, codePlan('0x620200005ff3'))
    expect(pieces).toEqual([expect.any(Buffer)])
    expect(blocks[0]!.calls[0]!.returnData).toHaveLength(2 + 2 * 128 * 1_024)
  })

  it('runs simulations one after another if the memory limit has room for one', async () => {
    const small = create({ memoryBytes: 64 * MIB })
    // Fills 128 KiB and calls itself with all of its gas: some 80 MiB per call with 50M gas.
    const deep = codePlan('0x6001620200005260005f5f5f5f305af1')
    const before = process.memoryUsage.rss()
    let most = before
    const look = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss())
    }, 1)
    const results = await Promise.all(Array.from({ length: 8 }, () => simulated(small, deep)))
    clearInterval(look)
    small.close()
    expect(new Set(results.map(({ blocks }) => blocks[0]!.gasUsed)).size).toBe(1)
    expect((most - before) / MIB).toBeLessThan(400)
  })
})

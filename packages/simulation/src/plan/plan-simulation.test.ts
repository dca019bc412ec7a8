import { DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, type Hex, RpcError, ZERO_HASH } from '@upfront/protocol'
import fc from 'fast-check'
import { aHeader, ethereumRules, optimismRules } from '../../test/fixtures.js'
import { denimSchedule } from './block-schedule.js'
import type { ChainRules } from './chain-rules.js'
import { planSimulation } from './plan-simulation.js'

const A: Hex = `0x${'aa'.repeat(20)}`
const base = aHeader({ number: 100n, timestamp: 1000n, miner: `0x${'11'.repeat(20)}` })

function plan(payload: object, { rules = ethereumRules(), limits = DEFAULT_SIMULATION_LIMITS, on = base } = {}) {
  return planSimulation(decodeSimulationRequest([payload, 'latest'], limits), on, rules, limits)
}

function refusal(run: () => unknown): { code: number; message: string } {
  try {
    run()
  } catch (error) {
    if (error instanceof RpcError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('was taken')
}

const overriding = (...blocks: object[]) => ({ blockStateCalls: blocks.map((blockOverrides) => ({ blockOverrides })) })

describe('planSimulation', () => {
  it('plans one empty block after the base, with geth’s defaults', () => {
    const { blocks, gasBudget, validation } = plan({ blockStateCalls: [{}] })
    expect(blocks).toEqual([
      {
        requestIndex: 0,
        number: 101n,
        timestamp: 1012n,
        gasLimit: base.gasLimit,
        feeRecipient: base.miner,
        prevRandao: ZERO_HASH,
        baseFeePerGas: 0n,
        baseFeeParameters: { elasticity: 2n, denominator: 8n, minimum: 0n },
        parentBeaconBlockRoot: ZERO_HASH,
        withdrawals: [],
        extraData: '0x',
        rules: { fork: 'prague', blob: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n } },
        stateOverrides: [],
        calls: [],
      },
    ])
    expect(gasBudget).toBe(50_000_000n)
    expect(validation).toBe(false)
  })

  it('leaves the base fee to the engine under validation, unless it is overridden', () => {
    const blocks = plan({ ...overriding({}, { baseFeePerGas: '0x9' }), validation: true }).blocks
    expect(blocks[0]).not.toHaveProperty('baseFeePerGas')
    expect(blocks[1]?.baseFeePerGas).toBe(9n)
  })

  it('fills gaps with empty blocks at the chain’s block time', () => {
    const { blocks } = plan(overriding({ number: '0x67' }, { number: '0x69', time: '0x500' }))
    expect(blocks.map(({ number, timestamp, requestIndex }) => [number, timestamp, requestIndex])).toEqual([
      [101n, 1012n, undefined],
      [102n, 1024n, undefined],
      [103n, 1036n, 0],
      [104n, 1048n, undefined],
      [105n, 1280n, 1],
    ])
    expect(plan(overriding({}, {}), { rules: optimismRules() }).blocks.map((block) => block.timestamp)).toEqual([
      1002n,
      1004n,
    ])
    expect(plan(overriding({}), { rules: ethereumRules({ schedule: { blockTime: 1n } }) }).blocks[0]?.timestamp).toBe(
      1001n,
    )
  })

  it('plans five blocks per second after Denim, and accepts equal times only from Denim on', () => {
    // 96 blocks of 2 s before 192, then 200 ms each: block 100 is at 192.8 s.
    const rules = optimismRules({ schedule: denimSchedule(0n, 192n) })
    const on = aHeader({ number: 100n, timestamp: 192n })
    const timesOf = (...overrides: object[]) =>
      plan(overriding(...overrides), { rules, on }).blocks.map(({ timestamp }) => timestamp)
    expect(timesOf({}, {}, {}, {}, {}, {}, {})).toEqual([193n, 193n, 193n, 193n, 193n, 194n, 194n])
    expect(timesOf({ number: '0x6a' })).toEqual([193n, 193n, 193n, 193n, 193n, 194n])
    expect(timesOf({ time: '0xc0' }, { time: '0xc0' }, { time: '0xff' }, {})).toEqual([192n, 192n, 255n, 255n])
    expect(() => timesOf({ time: '0xbf' })).toThrow('191 <= 192')
    const before = optimismRules({ schedule: denimSchedule(0n, 1_000n) })
    expect(() => plan(overriding({ time: '0xc0' }), { rules: before, on })).toThrow('192 <= 192')
  })

  it('inherits fee recipient and gas limit from the block before, not prevRandao and beacon root', () => {
    const hash = `0x${'77'.repeat(32)}`
    const [first, filled, last] = plan(
      overriding({ feeRecipient: A, gasLimit: '0x5', prevRandao: hash, beaconRoot: hash }, { number: '0x67' }),
    ).blocks
    expect(first).toMatchObject({ feeRecipient: A, gasLimit: 5n, prevRandao: hash, parentBeaconBlockRoot: hash })
    for (const block of [filled, last]) {
      expect(block).toMatchObject({
        feeRecipient: A,
        gasLimit: 5n,
        prevRandao: ZERO_HASH,
        parentBeaconBlockRoot: ZERO_HASH,
      })
    }
  })

  it.each([
    [
      overriding({ number: '0x64' }),
      -38020,
      'blockStateCalls[0].blockOverrides.number: block numbers must be in order: 100 <= 100',
    ],
    [
      overriding({}, { number: '0x65' }),
      -38020,
      'blockStateCalls[1].blockOverrides.number: block numbers must be in order: 101 <= 101',
    ],
    [
      overriding({ time: '0x3e8' }),
      -38021,
      'blockStateCalls[0].blockOverrides.time: block timestamps must be in order: 1000 <= 1000',
    ],
    [
      overriding({ number: '0x67', time: '0x3ee' }),
      -38021,
      'blockStateCalls[0].blockOverrides.time: block timestamps must be in order: 1006 <= 1024',
    ],
    [
      overriding({ number: '0x165' }),
      -38026,
      'blockStateCalls[0].blockOverrides.number: too many blocks: 257 > 256 after gaps are filled',
    ],
    [
      overriding({ number: `0x${'f'.repeat(64)}` }),
      -38026,
      `blockStateCalls[0].blockOverrides.number: too many blocks: ${2n ** 256n - 101n} > 256 after gaps are filled`,
    ],
    [
      overriding({ time: '0xffffffffffffffff' }, {}),
      -38021,
      "blockStateCalls[1]: the block's time would exceed 2^64 - 1",
    ],
  ])('refuses blocks out of order or too many: case %#', (payload, code, message) => {
    expect(refusal(() => plan(payload))).toEqual({ code, message })
  })

  it('accepts 256 blocks, with filled gaps included', () => {
    expect(plan(overriding({ number: '0x164' })).blocks).toHaveLength(256)
    expect(plan({ blockStateCalls: Array(256).fill({}) }).blocks).toHaveLength(256)
  })

  it('refuses blocks before the Merge, and from an unsupported fork on', () => {
    const paris: ChainRules = ethereumRules({ forks: [{ fork: 'paris', block: 200n }] })
    const worked = refusal(() => plan(overriding({}), { rules: paris, on: aHeader({ difficulty: 1n }) }))
    expect(worked).toEqual({ code: -32000, message: expect.stringContaining('is before the Merge') })
    const amsterdam = ethereumRules({ unsupportedFrom: { fork: 'amsterdam', timestamp: 1020n } })
    expect(plan(overriding({}), { rules: amsterdam }).blocks).toHaveLength(1)
    expect(refusal(() => plan(overriding({}, {}), { rules: amsterdam }))).toEqual({
      code: -32000,
      message: 'blockStateCalls[1]: block 102 at time 1024 is after fork amsterdam, which is not supported',
    })
  })

  it('infers the fork from the base’s header if the rules start later', () => {
    const told = ethereumRules({ forks: [{ fork: 'osaka', timestamp: 10_000n }] })
    const { requestsHash: _, ...cancun } = base
    const [first, second] = plan(overriding({}, { time: '0x2710' }), { rules: told, on: cancun }).blocks
    expect(first?.rules).toMatchObject({ fork: 'cancun', blob: { max: 6 } })
    expect(second?.rules.fork).toBe('osaka')
    expect(plan(overriding({}), { rules: told, on: base }).blocks[0]?.rules).toMatchObject({
      fork: 'prague',
      blob: { max: 9 },
    })
  })

  it("caps a validated transaction's gas on OP-stack chains from Karst on (EIP-7825)", () => {
    const calls = [{ calls: [{ gas: '0x1000001', to: A }] }]
    const karst: ChainRules = { ...ethereumRules(), stack: 'optimism', forks: [{ fork: 'karst', block: 0n }] }
    expect(plan({ blockStateCalls: calls, validation: true }, { rules: karst }).fault?.error.message).toContain(
      'cap: 16777216',
    )
    expect(plan({ blockStateCalls: calls }, { rules: karst })).not.toHaveProperty('fault')
    const ethereum = ethereumRules({ forks: [{ fork: 'osaka', block: 0n }] })
    expect(plan({ blockStateCalls: calls, validation: true }, { rules: ethereum })).not.toHaveProperty('fault')
  })

  it('refuses a base whose header shows a fork that the rules lack', () => {
    const on = aHeader({ blockAccessListHash: ZERO_HASH })
    expect(refusal(() => plan(overriding({}), { on })).code).toBe(-32000)
    const rules = ethereumRules({ forks: [{ fork: 'amsterdam', timestamp: 0n }] })
    expect(plan(overriding({}), { on, rules }).blocks[0]?.rules.fork).toBe('amsterdam')
  })

  it('gives each block the rules at its own time', () => {
    const rules = ethereumRules({
      forks: [
        { fork: 'cancun', timestamp: 0n },
        { fork: 'osaka', timestamp: 1020n },
      ],
    })
    const { baseRules, blocks } = plan(overriding({}, {}), { rules })
    expect([baseRules.fork, ...blocks.map((block) => block.rules.fork)]).toEqual(['cancun', 'cancun', 'osaka'])
  })

  it('refuses a block before the current fork of eth_config, and accepts one from the fork’s time on', () => {
    const rules = ethereumRules({ source: 'eth_config', forks: [{ fork: 'osaka', timestamp: 1020n }] })
    const { message, code } = refusal(() => plan(overriding({}), { rules }))
    expect(code).toBe(-32000)
    expect(message).toMatch(/^blockStateCalls\[0\]: block 101 at time 1012 .*CHAIN_GENESIS_FILE/)
    expect(plan(overriding({ time: '0x3fc' }), { rules }).blocks[0]?.rules.fork).toBe('osaka')
  })

  it('leaves out withdrawals and beacon root before their forks', () => {
    const rules = ethereumRules({ forks: [{ fork: 'paris', block: 0n }], blobSchedule: [] })
    const withdrawals = [{ index: '0x0', validatorIndex: '0x0', address: A, amount: '0x1' }]
    const [block] = plan(overriding({ withdrawals, beaconRoot: ZERO_HASH }), { rules }).blocks
    expect(block?.withdrawals).toEqual([])
    expect(block).not.toHaveProperty('parentBeaconBlockRoot')
  })

  it('refuses withdrawals on OP-stack chains from Isthmus on', () => {
    const withdrawals = [{ index: '0x0', validatorIndex: '0x0', address: A, amount: '0x1' }]
    expect(refusal(() => plan(overriding({ withdrawals }), { rules: optimismRules() })).code).toBe(-32000)
    expect(plan(overriding({ withdrawals: [] }), { rules: optimismRules() }).blocks).toHaveLength(1)
  })

  it('uses the base’s fee parameters for every block on OP-stack chains', () => {
    const on = aHeader({ extraData: '0x01000000fa0000000600000000000f4240' })
    for (const block of plan(overriding({}, {}), { rules: optimismRules(), on }).blocks) {
      expect(block).toMatchObject({
        extraData: '0x',
        baseFeeParameters: { elasticity: 6n, denominator: 250n, minimum: 1_000_000n },
      })
    }
  })

  it('uses the fields of the block under construction unless the request overrides them', () => {
    const opening = {
      timestamp: 1002n,
      gasLimit: 9n,
      feeRecipient: A,
      prevRandao: ZERO_HASH,
      baseFeePerGas: 5n,
    } as const
    const request = decodeSimulationRequest([overriding({ gasLimit: '0x7' }, {}), 'pending'], DEFAULT_SIMULATION_LIMITS)
    const { blocks } = planSimulation(request, base, ethereumRules(), DEFAULT_SIMULATION_LIMITS, opening)
    expect(blocks[0]).toMatchObject({ timestamp: 1002n, gasLimit: 7n, feeRecipient: A, baseFeePerGas: 5n })
    expect(blocks[1]).toMatchObject({ timestamp: 1014n, gasLimit: 7n, feeRecipient: A, baseFeePerGas: 0n })
  })

  it('ignores the time of a block under construction if it is before the base', () => {
    const request = decodeSimulationRequest([{ blockStateCalls: [{}] }, 'pending'], DEFAULT_SIMULATION_LIMITS)
    for (const [timestamp, planned] of [
      [0n, 1012n],
      [base.timestamp - 1n, 1012n],
      [base.timestamp, base.timestamp],
    ] as const) {
      const { blocks } = planSimulation(request, base, ethereumRules(), DEFAULT_SIMULATION_LIMITS, {
        timestamp,
        gasLimit: 9n,
      })
      expect(blocks[0]).toMatchObject({ timestamp: planned, gasLimit: 9n })
    }
  })

  it('reports block order errors before call errors, like geth', () => {
    const both = { gasPrice: '0x1', maxFeePerGas: '0x1' }
    const payload = { blockStateCalls: [{ calls: [both] }, { blockOverrides: { number: '0x1' } }] }
    expect(refusal(() => plan(payload)).code).toBe(-38020)
  })

  it('plans consecutive numbers and increasing times for random overrides', () => {
    const block = fc.record(
      { number: fc.integer({ min: 90, max: 400 }), time: fc.integer({ min: 900, max: 9000 }) },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 12 }), (overrides) => {
        const hex = overrides.map((fields) =>
          Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, `0x${value?.toString(16)}`])),
        )
        try {
          const { blocks } = plan(overriding(...hex))
          blocks.forEach((planned, i) => {
            expect(planned.number).toBe(base.number + 1n + BigInt(i))
            expect(planned.timestamp).toBeGreaterThan(blocks[i - 1]?.timestamp ?? base.timestamp)
          })
          expect(blocks.filter(({ requestIndex }) => requestIndex !== undefined)).toHaveLength(overrides.length)
        } catch (error) {
          if (!(error instanceof RpcError)) throw error
          expect([-38020, -38021, -38026]).toContain(error.code)
        }
      }),
    )
  })
})

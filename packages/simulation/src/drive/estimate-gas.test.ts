import { type CallRequest, RpcError, ZERO_ADDRESS } from '@upfront/protocol'
import fc from 'fast-check'
import { aHeader, ethereumRules, optimismRules } from '../../test/fixtures.js'
import { answerOf, type ScriptedCall } from '../../test/scripted-answer.js'
import type { Halt } from '../engine/halt.js'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { estimateGas } from './estimate-gas.js'
import type { CallSite } from './execute-call.js'
import { pinnedState } from './pinned-state.js'
import { ReadBudget } from './read-budget.js'

const GAS_CAP = 50_000_000n

type Simulate = CallSite['driver']['simulate']

/** Succeeds with at least `needed` gas and then uses `used`, like a call with a refund or inner calls (63/64). */
function callThatNeeds(needed: bigint, used: bigint, onRun = () => {}, halt: Halt = { kind: 'outOfGas' }): Simulate {
  return (plan: SimulationPlan) => {
    onRun()
    const planned = plan.blocks[0]!.calls[0]!
    const gas = planned.gas ?? 0n
    const call: ScriptedCall =
      gas >= needed
        ? { succeeded: true, gasUsed: used, maxUsedGas: used, returnData: '0x', logs: [] }
        : {
            succeeded: false,
            gasUsed: gas,
            maxUsedGas: gas,
            returnData: '0x',
            logs: [],
            failure: { kind: 'halt', halt, isGasCapped: false },
          }
    const header = aHeader()
    return answerOf([{ header, size: 0n, transactions: [header], calls: [call] }])
  }
}

const request = (call: CallRequest['call'] = {}): CallRequest => ({
  call: { to: ZERO_ADDRESS, input: '0x01', ...call },
  block: { kind: 'tag', tag: 'pending' },
  stateOverrides: [],
  blockOverrides: {},
})

function site(simulate: Simulate, balance = 0n): CallSite {
  const base = aHeader()
  return {
    driver: {
      simulate,
      read: (reads) => Promise.resolve(reads.map(({ kind }) => (kind === 'code' ? '0x' : balance))),
    },
    rules: ethereumRules(),
    base,
    opening: { gasLimit: 30_000_000n },
    state: pinnedState({ header: base, key: base.hash }),
    gasCap: GAS_CAP,
    answerBytes: 1_000_000,
    budget: new ReadBudget(0, 0),
    cancellation: new AbortController(),
  }
}

describe('estimateGas', () => {
  it('returns a limit that is enough and at most 1.5% above the minimum, in fewer than 30 runs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.bigInt(21_000n, 29_000_000n), fc.integer({ min: 50, max: 100 }), async (needed, percent) => {
        let runs = 0
        const used = (needed * BigInt(percent)) / 100n
        const simulate = callThatNeeds(needed, used, () => {
          runs += 1
        })
        const estimate = await estimateGas(request(), site(simulate))
        if (!('gas' in estimate)) throw new Error('failed')
        expect(estimate.gas).toBeGreaterThanOrEqual(needed)
        expect(estimate.gas * 1000n).toBeLessThanOrEqual(needed * 1016n + 2000n)
        expect(runs).toBeLessThan(30)
      }),
      { numRuns: 50 },
    )
  })

  it('estimates a plain transfer in one run', async () => {
    let runs = 0
    const simulate = callThatNeeds(21_000n, 21_000n, () => {
      runs += 1
    })
    expect(await estimateGas(request({ input: '0x' }), site(simulate))).toEqual({ gas: 21_000n })
    expect(runs).toBe(1)
  })

  it('returns geth’s "gas required exceeds allowance" if no limit is enough', async () => {
    await expect(estimateGas(request(), site(callThatNeeds(40_000_000n, 1n)))).rejects.toEqual(
      new RpcError(-32000, 'gas required exceeds allowance (30000000)'),
    )
  })

  it('returns the same error if the call halts at the reentrancy sentry', async () => {
    const short = callThatNeeds(40_000_000n, 1n, undefined, { kind: 'reentrancySentry' })
    await expect(estimateGas(request(), site(short))).rejects.toEqual(
      new RpcError(-32000, 'gas required exceeds allowance (30000000)'),
    )
  })

  it.each([
    ['Osaka', ethereumRules()],
    ['Karst', optimismRules()],
    ['Azul', optimismRules()],
  ])('caps the estimate at 16,777,216 gas from %s on (EIP-7825), and not before', async (name, rules) => {
    const fork = name.toLowerCase() as 'osaka'
    const since = aHeader().timestamp + 10n
    const at = async (timestamp: bigint, needed: bigint) => {
      const forks = [...rules.forks, { fork, timestamp: since }]
      const opening = { gasLimit: 30_000_000n, timestamp }
      return estimateGas(request(), { ...site(callThatNeeds(needed, needed)), rules: { ...rules, forks }, opening })
    }
    const cap = 16_777_216n
    expect(await at(since - 1n, cap + 1n)).toHaveProperty('gas')
    for (const time of [since, since + 1n]) {
      expect(await at(time, cap)).toEqual({ gas: cap })
      await expect(at(time, cap + 1n)).rejects.toThrow(`gas required exceeds allowance (${cap})`)
    }
  })

  it('limits the estimate to the gas that the sender can pay', async () => {
    const paying = request({ from: ZERO_ADDRESS, gasPrice: 10n })
    await expect(estimateGas(paying, site(callThatNeeds(100_000n, 90_000n), 500_000n))).rejects.toEqual(
      new RpcError(-32000, 'gas required exceeds allowance (50000)'),
    )
    await expect(estimateGas(paying, site(callThatNeeds(1n, 1n), 0n))).rejects.toEqual(
      new RpcError(-32000, 'insufficient funds for transfer'),
    )
  })
})

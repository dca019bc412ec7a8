import { DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, RpcError } from '@upfront/protocol'
import { aHeader, ethereumRules } from '../../test/fixtures.js'
import type { ExecutedCall, SimulationOutcome } from '../engine/engine.js'
import { planSimulation } from '../plan/plan-simulation.js'
import { answerBlocks } from './answer-json.js'
import { answerOf } from './answer-of.js'

const params = [{ blockStateCalls: [{ calls: [{}, {}, {}] }] }, 'latest']
const request = decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS)
const plan = planSimulation(request, aHeader(), ethereumRules(), DEFAULT_SIMULATION_LIMITS)

const spent = { gasUsed: 1n, maxUsedGas: 1n, logs: [] }
const succeeded: ExecutedCall = { ...spent, succeeded: true, returnData: '0x01' }
const reverted: ExecutedCall = { ...spent, succeeded: false, returnData: '0xab', failure: { kind: 'revert' } }

function outcome(...calls: ExecutedCall[]): SimulationOutcome {
  const header = aHeader({ gasUsed: 3n })
  const transactions = plan.blocks[0]!.calls.map((call) => ({ hash: header.hash, nonce: 0n, gas: 1n, call }))
  return { blocks: [{ header, size: 1n, transactions, calls }], touched: { accounts: 1, slots: 0 } }
}

describe('answerOf', () => {
  it('is cut where errors belong', () => {
    const answer = answerOf(outcome(reverted, succeeded, reverted), plan)
    expect(answer.pieces).toHaveLength(3)
    expect(answer.failures).toEqual(Array(2).fill({ failure: { kind: 'revert' }, returnData: '0xab' }))
    expect(answer.gasUsed).toBe(3n)
    const calls = answerBlocks(answer, 'ethereum')[0]!.calls
    expect(calls.map(({ error }) => error !== undefined)).toEqual([true, false, true])
  })

  it('may be as long as the plan allows, revert data included', () => {
    const { pieces, failures } = answerOf(outcome(reverted, succeeded, reverted), plan)
    const answerBytes = [...pieces, ...failures.map(({ returnData }) => returnData)].join('').length
    expect(() => answerOf(outcome(reverted, succeeded, reverted), { ...plan, answerBytes })).not.toThrow()
    const shorter = { ...plan, answerBytes: answerBytes - 1 }
    expect(() => answerOf(outcome(reverted, succeeded, reverted), shorter)).toThrow(RpcError)
  })
})

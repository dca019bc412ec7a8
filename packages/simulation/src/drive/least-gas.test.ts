import { DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, ErrorCode, RpcError } from '@upfront/protocol'
import type { CallRecord, Frame } from '../engine/call-record.js'
import { minGas } from './least-gas.js'

const A = `0x${'aa'.repeat(20)}` as const

/** Calls with these least gas limits. A limit below 21,000 makes the transaction invalid. */
function machine(...needs: bigint[]) {
  let runs = 0
  const frame = (reverted: boolean, gas: bigint): Frame => ({
    ...{ kind: 'CALL', depth: 0, from: A, to: A, input: '0x', output: '0x', gas, gasUsed: gas / 2n },
    ...{ value: 0n, reverted, isPrecompile: false, logs: [] },
  })
  const recordOf = (gas: bigint, at: number): CallRecord => ({
    ...{ gas, gasUsed: gas / 2n, accounts: [], probed: [], probeGas: 0n, preimages: [] },
    frames: [frame(gas < needs[at]!, gas)],
  })
  const request = decodeSimulationRequest(
    [{ blockStateCalls: needs.map(() => ({ calls: [{ gas: '0xf4240' }] })) }],
    DEFAULT_SIMULATION_LIMITS,
  )
  const run = async (tried: typeof request) => {
    runs += 1
    const gas = tried.blockStateCalls.flatMap(({ calls }) => calls.map((call) => call.gas!))
    if (gas.some((limit) => limit < 21_000n)) throw new RpcError(ErrorCode.intrinsicGas, 'too little')
    return gas.map(recordOf)
  }
  return { request, run, runs: () => runs, reference: needs.map((_, at) => recordOf(1_000_000n, at)) }
}

const fail = (error: unknown) => {
  throw error
}

describe('minGas', () => {
  it('returns the gas used if that is enough, in one run', async () => {
    const { request, run, runs, reference } = machine(30_000n, 40_000n)
    expect(await minGas(request, reference, [30_000n, 40_000n], run, fail)).toEqual([30_000n, 40_000n])
    expect(runs()).toBe(1)
  })

  it('finds the exact minimum if a call needs more than it used', async () => {
    const { request, run, reference } = machine(30_000n, 123_457n, 40_000n, 999_999n)
    const used = [30_000n, 50_000n, 40_000n, 21_000n]
    expect(await minGas(request, reference, used, run, fail)).toEqual([30_000n, 123_457n, 40_000n, 999_999n])
  })

  it('leaves out limits that it does not find in 129 runs', async () => {
    const { request, run, runs, reference } = machine(...Array<bigint>(40).fill(777_777n))
    const limits = await minGas(request, reference, Array<bigint>(40).fill(21_000n), run, fail)
    expect(limits[0]).toBe(777_777n)
    expect(limits.at(-1)).toBeUndefined()
    expect(runs()).toBeLessThanOrEqual(129)
  })

  it('returns the limits found before a run failed, or rejects if the error handler throws', async () => {
    const { request, run, runs, reference } = machine(30_000n, 123_457n, 140_000n)
    const silent = new Error('the node did not answer')
    const failing = async (tried: typeof request) => {
      const [, , last] = tried.blockStateCalls.map(({ calls }) => calls[0]!.gas!)
      if (last! > 50_000n && last! < 200_000n) throw silent
      return run(tried)
    }
    const told: unknown[] = []
    const used = [30_000n, 50_000n, 40_000n]
    const limits = await minGas(request, reference, used, failing, (error) => told.push(error))
    expect(limits).toEqual([30_000n, 123_457n, undefined])
    expect(told).toEqual([silent])
    expect(runs()).toBeGreaterThan(10)
    await expect(minGas(request, reference, used, failing, fail)).rejects.toBe(silent)
  })
})

import { developmentBase, developmentState, NOBODY, tracesOf } from '@upfront/engine-conformance'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'

const CANCUN = developmentState({ ...developmentBase, timestamp: 2_500n })
const OTHER = '0x00000000000000000000000000000000000c0de5'

interface Frame {
  error?: string
  calls?: Frame[]
}

describe.each(BUILDS)('struct logger steps, on the %s build', (_build, create) => {
  let engine: RevmEngine
  beforeAll(() => {
    engine = create()
  })
  afterAll(() => engine.close())

  /** Runs code; returns the struct logger's steps and the call tracer's frames. */
  const traced = async (code: string, gas: number, other: string) => {
    const stateOverrides = { [NOBODY]: { code: `0x${code}` }, [OTHER]: { code: `0x${other}` } }
    const configs = [{ stateOverrides }, { stateOverrides, tracer: 'callTracer' }]
    const call = { to: NOBODY, gas: `0x${gas.toString(16)}` }
    const answers = await tracesOf(engine, call, configs, CANCUN)
    const [{ structLogs }, frame] = answers.map(({ result }) => result) as [{ structLogs: Frame[] }, Frame]
    return { steps: structLogs, failed: frame.calls?.[0] ?? frame }
  }

  /** STATICCALL of OTHER. */
  const STATIC = `5f5f5f5f73${OTHER.slice(2)}5afa`

  it.each([
    ['out of gas', '5b600056', 30_000, ''],
    ['stack underflow (0 <=> 2)', '01', 30_000, ''],
    ['stack limit reached 1024 (1023)', '5b5f600056', 60_000, ''],
    ['out of gas: not enough gas for reentrancy sentry', '5f5f55', 23_304, ''],
    ['out of gas: write protection', STATIC, 60_000, '5f5f55'],
  ])('have the error of the frame if the instruction fails before it runs: %s', async (words, code, gas, other) => {
    const { steps, failed } = await traced(code, gas, other)
    expect(failed.error).toBe(words)
    expect(steps.flatMap(({ error }) => error ?? [])).toEqual([words])
  })

  it.each([
    ['invalid opcode: INVALID', 'fe', ''],
    ['return data out of bounds', '60015f5f3e', ''],
    ['write protection', STATIC, '5f5fa0'],
  ])('have no error if the instruction fails as it runs: %s', async (words, code, other) => {
    const { steps, failed } = await traced(code, 60_000, other)
    expect(failed.error).toBe(words)
    expect(steps.filter(({ error }) => error !== undefined)).toEqual([])
  })
})

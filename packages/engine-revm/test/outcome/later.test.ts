import { callPlan, developmentPoint, developmentState, drive, RICH, randomNumbers } from '@upfront/engine-conformance'
import type { Hex } from '@upfront/protocol'
import type { CallRecord, Recording, SimulationPlan } from '@upfront/simulation'
import { createRevmEngine } from '../../src/index.js'

/** `LATER_SEEDS=100000` for the long form. */
const SEEDS = Number(process.env.LATER_SEEDS ?? 500)
const SECONDS = 60
const CALLED = `0x${'c1'.repeat(20)}` as const
const OTHER = `0x${'c2'.repeat(20)}` as const
/** keccak256("Transfer(address,address,uint256)") */
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const hex = (value: number | bigint, bytes: number) => value.toString(16).padStart(2 * bytes, '0')
const push = (value: number | bigint) => {
  const bytes = Math.max(1, Math.ceil(value.toString(16).length / 2))
  return hex(0x5f + bytes, 1) + hex(value, bytes)
}
const op = {
  ...{ add: '01', mul: '02', sub: '03', div: '04', sdiv: '05', mod: '06', smod: '07', exp: '0a', signextend: '0b' },
  ...{ lt: '10', gt: '11', slt: '12', sgt: '13', eq: '14', and: '16', or: '17', xor: '18', byte: '1a' },
  ...{ shl: '1b', shr: '1c', sar: '1d' },
}

/** A contract that moves words between eight places in memory, storage, itself and other contracts, and logs some transfers. */
function program(seed: number, base: bigint): Hex {
  const random = randomNumbers(seed)
  const below = (count: number) => Math.floor(random() * count)
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!
  const place = () => push(32 * below(8))
  const load = () => `${place()}51`
  const store = (word: string) => `${word}${place()}52`
  const slot = () => push(below(4))
  const small = () => pick([0, 1, 2, 5, 16, 31, 32, 64, 160, 255, 256])
  /** A number near the time, now and later. */
  const constant = () =>
    pick([push(small()), push(base + BigInt(below(2 * SECONDS) - SECONDS / 2)), push(2n ** 256n - 1n)])
  const told = (amount: string) => `${amount}61010052${push(1)}${push(2)}7f${TRANSFER}6020610100a3`
  const call = (to: string, gas: string) =>
    pick([`${push(32)}${place()}${push(32)}${place()}`, `${push(28)}${place()}${push(36)}${place()}`]) +
    `5f${to}${gas}f1`
  const steps: (() => string)[] = [
    () => store('42'),
    () => store('42'),
    () => store(constant()),
    () => store(`${load()}${load()}${pick(Object.values(op))}`),
    () => store(`${load()}${load()}${pick(Object.values(op))}`),
    () => store(`${load()}${constant()}${pick(Object.values(op))}`),
    () => store(`${constant()}${load()}${pick(Object.values(op))}`),
    () => store(`${load()}${pick(['15', '19'])}`),
    () => store(`${load()}${load()}${load()}${pick(['08', '09'])}`),
    // Unaligned, partial and overlapping accesses.
    () => store(`${push(below(250))}51`),
    () => `${load()}${push(below(250))}${pick(['52', '53'])}`,
    () => `${push(small())}${push(below(250))}${push(below(250))}5e`,
    () => store(`${push(32)}${place()}20`),
    () => store(`${slot()}54`),
    () => `${load()}${slot()}55`,
    () => `${load()}${slot()}5d`,
    () => store(`${slot()}5c`),
    () => store(call(pick([`73${OTHER.slice(2)}`, push(2), push(4)]), '5a')),
    () => store(call(`73${OTHER.slice(2)}`, push(pick([2_300, 3_000, 5_500, 8_000, 24_000])))),
    () => store(`${push(below(40))}35`),
    () => `3d5f${place()}3e`,
    () => store('5a'),
    () => (random() < 0.1 ? told(load()) : ''),
  ]
  let code = ''
  /** The body of a branch. */
  const effect = () => pick([told(push(below(9))), `${load()}${slot()}55`, store(constant()), '5f5ffd', '00'])
  const branch = () => {
    const condition = pick([load(), `${load()}15`, `${load()}${constant()}${pick([op.lt, op.gt, op.eq])}`])
    const body = effect()
    // Jumps over the body: PUSH2, JUMPI, the body, JUMPDEST.
    const to = code.length / 2 + condition.length / 2 + 4 + body.length / 2
    return `${condition}61${hex(to, 2)}57${body}5b`
  }
  for (let left = 12 + below(30); left > 0; left--) code += random() < 0.15 ? branch() : pick(steps)()
  return `0x${code}${told(push(7))}00`
}

describe('isSameLater', () => {
  const engine = createRevmEngine({ threads: 1 })
  const { state } = developmentState()
  afterAll(() => engine.close())

  const run = async (plan: SimulationPlan, recording: Recording): Promise<CallRecord> => {
    const { signal } = new AbortController()
    const answer = await drive(engine.begin({ ...plan, recording }, developmentPoint, { signal }), state)
    return answer.records[0]!
  }

  it('is set only if the call has the same effects 60 seconds later, for random programs', async () => {
    const found = { same: 0, branches: 0, others: 0 }
    for (let seed = 0; seed < SEEDS; seed++) {
      const [{ timestamp }] = callPlan({}).blocks as [SimulationPlan['blocks'][0]]
      // The callee returns its input, after storing it.
      const echo = `0x5f35${push(seed % 3)}555f3542${['01', '10', '16'][seed % 3]}5f5260205ff3`
      const slots = {
        state: { [`0x${hex(1, 32)}`]: `0x${hex(5, 32)}`, [`0x${hex(2, 32)}`]: `0x${hex(timestamp, 32)}` },
      }
      const overrides = { [CALLED]: { code: program(seed, timestamp), ...slots }, [OTHER]: { code: echo, ...slots } }
      const plan = callPlan({ from: RICH, to: CALLED, gas: '0x7a120', input: `0x${hex(seed, 40)}` }, overrides)
      const none = { frames: false, state: false }
      const now = await run(plan, { ...none, depends: true, effects: true, later: SECONDS })
      const { facts, isSameLater } = now.dependencies!
      if (!isSameLater) {
        found.others++
        continue
      }
      const blocks = plan.blocks.map((block) => ({ ...block, timestamp: block.timestamp + BigInt(SECONDS) }))
      const later = await run({ ...plan, blocks }, { ...none, effects: true, alone: true })
      expect({ seed, effects: later.effects }).toEqual({ seed, effects: now.effects })
      found.same++
      if (facts.some(({ kind }) => kind === 'time')) found.branches++
    }
    expect(found.branches).toBeGreaterThan(SEEDS / 100)
    expect(found.others).toBeGreaterThan(SEEDS / 10)
  }, 600_000)
})

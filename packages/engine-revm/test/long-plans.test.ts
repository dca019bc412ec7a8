import { developmentPoint, planOf } from '@upfront/engine-conformance'
import { Canceller } from '@upfront/node'
import { joinJson } from '@upfront/protocol'
import type { Answer, StateRead, StateValue, Step } from '@upfront/simulation'
import { BUILDS } from './builds.js'

const MANY = 6_000
const CONTRACT = '0x00000000000000000000000000000000000c0de0'
const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`

/** Many accounts, and a call that returns the balance of one of them. */
function planAsking(asked: number) {
  // PUSH20, BALANCE, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN
  const code = `0x73${address(asked).slice(2)}315f5260205ff3`
  const balances = Array.from({ length: MANY }, (_, n) => [
    address(0xaa0000 + n),
    { balance: `0x${(n + 1).toString(16)}` },
  ])
  const stateOverrides = { ...Object.fromEntries(balances), [CONTRACT]: { code } }
  return planOf({ blockStateCalls: [{ stateOverrides, calls: [{ to: CONTRACT }] }] })
}

describe.each(BUILDS)('long plans, on the %s build', (_, create) => {
  const engine = create({ threads: 1 })
  afterAll(() => engine.close())

  async function returned(asked: number): Promise<string> {
    let step: Step<Answer> = await engine.begin(planAsking(asked), developmentPoint, new Canceller())
    while (step.kind === 'lacking') step = await step.resume(step.reads.map(nothing))
    return joinJson(step.outcome.pieces).toString()
  }

  it('executes several plans that arrive in pieces at the same time', async () => {
    const answers = await Promise.all([0xaa0000, 0xaa0000 + MANY - 1].map(returned))
    for (const [index, balance] of [1, MANY].entries())
      expect(answers[index]).toContain(balance.toString(16).padStart(64, '0'))
  })

  it('drops the pieces of a cancelled plan', async () => {
    const canceller = new Canceller()
    const begun = engine.begin(planAsking(0xaa0000), developmentPoint, canceller)
    canceller.cancel(new Error('given up'))
    await expect(begun).rejects.toThrow('given up')
    expect(await returned(0xaa0001)).toContain('2'.padStart(64, '0'))
  })
})

function nothing({ kind }: StateRead): StateValue {
  if (kind === 'balance' || kind === 'nonce') return 0n
  return kind === 'code' ? '0x' : `0x${'0'.repeat(64)}`
}

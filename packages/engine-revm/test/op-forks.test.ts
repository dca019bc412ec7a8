import { callPlan, NOBODY, RICH, simulated } from '@upfront/engine-conformance'
import type { Address } from '@upfront/protocol'
import type { OpFork, SimulationPlan } from '@upfront/simulation'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'

const FACTORY: Address = '0xb20f000000000000000000000000000000000000'
const TOKEN: Address = '0xb200000000000000000001000000000000000abc'

const under = (opFork: OpFork, plan: SimulationPlan): SimulationPlan => ({
  ...plan,
  blocks: plan.blocks.map((block) => ({ ...block, rules: { fork: 'osaka', opFork } })),
})

describe.each(BUILDS)('OP-stack forks after Jovian, on the %s build', (_build, create) => {
  let engine: RevmEngine
  beforeEach(() => {
    engine = create()
  })
  afterEach(() => engine.close())

  const pairing = (pairs: number) =>
    callPlan({ from: RICH, to: `0x${'0'.repeat(39)}8`, input: `0x${'00'.repeat(192 * pairs)}`, gas: '0x2000000' })

  it.each([
    ['karst', 300, '0x1'],
    ['karst', 301, '0x0'],
    ['azul', 301, '0x1'],
    ['azul', 427, '0x1'],
    ['azul', 428, '0x0'],
    ['denim', 427, '0x1'],
  ] as const)('%s runs a BN254 pairing of %i pairs with status %s', async (fork, pairs, status) => {
    const { blocks } = await simulated(engine, under(fork, pairing(pairs)))
    expect(blocks[0]?.calls[0]?.status).toBe(status)
  })

  it("gives a full legacy transaction the chain's id, like op-geth", async () => {
    const plan = callPlan({ from: RICH, to: NOBODY, gasPrice: '0x0' }, {}, { returnFullTransactions: true })
    const chainIds = async (planned: SimulationPlan) => {
      const { blocks } = await simulated(engine, planned)
      return blocks[0]?.transactions.map((transaction) => (transaction as { chainId?: string }).chainId)
    }
    expect(await chainIds(under('jovian', plan))).toEqual(['0x1cbd'])
    expect(await chainIds(plan)).toEqual(['0x7fffffffffffffee'])
  })

  // Calls the token, and returns whether that succeeded.
  const caller = `0x5f5f5f5f5f73${TOKEN.slice(2)}5af15f5260205ff3`
  const stub = { [TOKEN]: { code: '0xef' } }

  it.each([
    ['the factory', callPlan({ from: RICH, to: FACTORY, input: '0x01' }), FACTORY],
    ['a token', callPlan({ from: RICH, to: TOKEN, input: '0x01' }, stub), TOKEN],
    [
      'a token, called by a contract',
      callPlan({ from: RICH, to: NOBODY }, { ...stub, [NOBODY]: { code: caller } }),
      TOKEN,
    ],
  ])('refuses a B20 call that reaches %s, and names its address', async (_, plan, address) => {
    await expect(simulated(engine, under('beryl', plan))).rejects.toMatchObject({
      rejection: { kind: 'nativePrecompile', address },
      block: 0,
      call: 0,
    })
  })

  it.each([
    ['before Beryl', 'azul', stub],
    ['elsewhere than on Base', 'karst', stub],
    ['without the byte that stands for its code', 'denim', {}],
  ] as const)('runs a call to the address of a B20 token %s', async (_, fork, overrides) => {
    const { blocks } = await simulated(engine, under(fork, callPlan({ from: RICH, to: TOKEN }, overrides)))
    expect(blocks[0]?.calls[0]?.status).toBe(fork === 'denim' ? '0x1' : '0x0')
  })
})

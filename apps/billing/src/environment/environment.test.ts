import { EnvironmentError, settingsHelp } from '@upfront/service'
import { Environment, readBillingEnvironment } from './environment.js'

const KEY = `0x${'ab'.repeat(32)}`
const usable = {
  BILLING_TOKEN: 'token',
  FACILITATOR_PRIVATE_KEYS: KEY,
  CHAINS: JSON.stringify({ 'eip155:84532': { rpcUrl: 'https://node.example/secret-path' } }),
}

function problemsOf(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    readBillingEnvironment(environment)
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems
    throw error
  }
  return []
}

describe('readBillingEnvironment', () => {
  it('applies defaults, and knows USDC on Base Sepolia', () => {
    const environment = readBillingEnvironment({ ...usable, BILLING_PORT: '' })
    expect(environment).toMatchObject({
      BILLING_PORT: 8081,
      BILLING_HOST: '127.0.0.1',
      CONFIRMATIONS: 1,
      LIMITS: { receiptWaitMs: 30_000, inFlightPerSigner: 16 },
    })
    const [chain] = environment.CHAINS
    expect(chain).toMatchObject({ network: 'eip155:84532', chainId: 84_532 })
    expect([...(chain?.tokens.values() ?? [])]).toMatchObject([{ name: 'USDC', version: '2', decimals: 6 }])
  })

  it('derives maxFeePerGas and dailyGasBudget from weiPerToken unless the chain sets them', () => {
    const boundsOf = (settings: Record<string, string>) => {
      const [chain] = readBillingEnvironment({
        ...usable,
        CHAINS: JSON.stringify({ 'eip155:8453': { rpcUrl: 'https://node.example', ...settings } }),
      }).CHAINS
      return [chain?.maxFeePerGas, chain?.dailyGasBudget].map((wei) => Number(wei) / 1e9)
    }
    expect(boundsOf({})).toEqual([expect.closeTo(4, 2), expect.closeTo(1e8, -1)])
    expect(boundsOf({ weiPerToken: '1000000000000000000' })).toEqual([
      expect.closeTo(12_005, 0),
      expect.closeTo(3e11, 0),
    ])
    expect(boundsOf({ maxFeePerGas: '5', dailyGasBudget: '7000000000' })).toEqual([5e-9, 7])
  })

  it('still reads FEE_BUMP_MS and SETTLEMENT_BATCH_SIZE, now fields of LIMITS', () => {
    const { LIMITS } = readBillingEnvironment({ ...usable, FEE_BUMP_MS: '700', SETTLEMENT_BATCH_SIZE: '9' })
    expect(LIMITS).toMatchObject({ feeBumpMs: 700, batchSize: 9, receiptWaitMs: 30_000 })
  })

  it('accepts several keys, with or without 0x, with any white space', () => {
    const other = 'cd'.repeat(32)
    expect(
      readBillingEnvironment({ ...usable, FACILITATOR_PRIVATE_KEYS: ` ${KEY},\n${other}\n` }).signers,
    ).toHaveLength(2)
  })

  it('reports all invalid variables at once', () => {
    const problems = problemsOf({
      BILLING_PORT: '70000',
      LIMITS: '{"receiptWaitMs": -1}',
      OPEN_FACILITATOR: 'on',
      LOG_LEVEL: 'loud',
      CHAINS: '{',
    })
    for (const variable of [
      'BILLING_PORT',
      'BILLING_TOKEN',
      'LIMITS.receiptWaitMs',
      'OPEN_FACILITATOR: has been removed',
      'LOG_LEVEL',
      'FACILITATOR_PRIVATE_KEYS',
      'CHAINS',
    ]) {
      expect(problems.filter((problem) => problem.startsWith(`${variable}: `))).toHaveLength(1)
    }
  })

  it.each([
    ['FACILITATOR_PRIVATE_KEYS', `0x${'hunter2'.repeat(9)}`],
    ['FACILITATOR_PRIVATE_KEYS', `${KEY},${KEY}`],
    ['FACILITATOR_PRIVATE_KEYS', `0x${'0'.repeat(64)}`],
    ['BILLING_TOKEN', 'with blank'],
    ['BILLING_READ_TOKEN', 'with blank'],
    ['BILLING_READ_TOKEN', usable.BILLING_TOKEN],
    ['DATABASE_URL', 'mysql://user:hunter2@host'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'htp://user:hunter2@collector'],
    ['CHAINS', '{"eip155:1": {"rpcUrl": "ftp://hunter2"}}'],
  ])('rejects an invalid %s without quoting its value', (variable, value) => {
    const problems = problemsOf({ ...usable, [variable]: value })
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.join()).not.toMatch(/hunter2|with blank|abab/)
  })

  it.each([
    ['{"eip155:1": {"rpcUrl": "http://x"}}', 'CHAINS["eip155:1"].tokens: '],
    ['{"mainnet": {"rpcUrl": "http://x"}}', 'CHAINS["mainnet"]: '],
    ['{"eip155:8453": {"rpcUrl": "http://x", "colour": 1}}', 'CHAINS["eip155:8453"].colour: unknown field'],
    ['{"eip155:8453": {"rpcUrl": "http://x", "confirmations": 0}}', 'CHAINS["eip155:8453"].confirmations: '],
    ['{"eip155:8453": {"rpcUrl": "http://x", "tokens": {"0x1": {}}}}', 'CHAINS["eip155:8453"].tokens["0x1"].asset: '],
    ['[]', 'CHAINS: '],
    ['{}', 'CHAINS: '],
  ])('names the invalid field of CHAINS=%s', (CHAINS, problem) => {
    expect(problemsOf({ ...usable, CHAINS })[0]).toContain(problem)
  })

  it('has at most 15 settings', () => {
    expect(settingsHelp(Environment).match(/^ {2}[A-Z]/gm)?.length).toBeLessThanOrEqual(15)
  })
})

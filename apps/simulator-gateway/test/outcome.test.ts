import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { startGenesisUpstream } from './genesis-upstream.js'
import { incidents } from './incidents.js'
import { FRIEND, OWNER, SLOTS, THIEF, traps } from './traps.js'

/** `TRAPS_EVERY=1` runs all of them. */
const EVERY = Number(process.env.TRAPS_EVERY ?? 24)
const TARGET = '0x7000000000000000000000000000000000000001'
const word = (value: bigint | number | string) => `0x${BigInt(value).toString(16).padStart(64, '0')}`

let upstream: Awaited<ReturnType<typeof startGenesisUpstream>>
let gateway: GatewayProcess

beforeAll(async () => {
  upstream = await startGenesisUpstream()
  gateway = await startGateway({
    UPSTREAM_RPC_URL: upstream.url,
    DIALECT: 'ethereum',
    LIMITS: { callsPerSecond: 0 },
  })
})

afterAll(async () => {
  await gateway?.stop()
  upstream?.close()
})

interface Outcome {
  verdict: 'holds' | 'changes' | 'watched'
  because: { fact?: { kind: string }; under: string; effect: string }[]
}

// biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
async function ask(payload: object): Promise<any> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params: [payload, 'latest'] })
  const response = await fetch(gateway.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (error) throw new Error(error.message)
  return result
}

async function outcomeOf(code: string, { call = {}, others = {}, slots = {}, block = {} } = {}): Promise<Outcome> {
  const stateOverrides = {
    ...others,
    [OWNER]: { balance: '0xde0b6b3a7640000', ...(others as Record<string, object>)[OWNER] },
    [TARGET]: { code, balance: '0xde0b6b3a7640000', stateDiff: slots },
  }
  const calls = [{ from: OWNER, to: TARGET, ...call }]
  const [{ calls: answered }] = await ask({
    blockStateCalls: [{ stateOverrides, blockOverrides: block, calls }],
    outcome: true,
  })
  return answered[0].outcome
}

const PAY = `0 0 0 0 5 ${BigInt(FRIEND)} GAS CALL POP`

describe('outcome', () => {
  it('holds if no fact decides it, or the deciding facts stay the same', async () => {
    expect(await outcomeOf(assemble(`${PAY} STOP`))).toEqual({ verdict: 'holds', because: [] })
    const deadline = `TIMESTAMP 99999999999 GT >on JUMPI 0 0 REVERT @on ${PAY} STOP`
    expect(await outcomeOf(assemble(deadline))).toEqual({ verdict: 'holds', because: [] })
  })

  it('changes if a deadline passes within a minute', async () => {
    const program = `TIMESTAMP 2000000050 GT >on JUMPI 0 0 REVERT @on ${PAY} STOP`
    expect(await outcomeOf(assemble(program), { block: { time: '0x77359400' } })).toEqual({
      verdict: 'changes',
      because: [{ fact: { kind: 'time' }, under: '60 s and 2 blocks later', effect: 'fails' }],
    })
  })

  it('changes if an amount depends on the block number', async () => {
    const program = `0 0 0 0 NUMBER ${BigInt(FRIEND)} GAS CALL POP STOP`
    const { verdict, because } = await outcomeOf(assemble(program))
    expect(verdict).toBe('changes')
    expect(because[0]).toMatchObject({ fact: { kind: 'number' }, under: 'one block later' })
    expect(because[0]?.effect).toMatch(/^0x\w+ instead of 0x\w+: transfer of the native currency/)
  })

  it('changes if the code of a delegation acts (EIP-7702)', async () => {
    const delegate = '0x7000000000000000000000000000000000000002'
    const others = { [OWNER]: { code: `0xef0100${delegate.slice(2)}` }, [delegate]: { code: assemble(`${PAY} STOP`) } }
    const { verdict, because } = await outcomeOf('0x00', { call: { to: OWNER }, others })
    expect(verdict).toBe('changes')
    expect(because).toEqual([
      {
        fact: { kind: 'code', address: OWNER },
        under: 'a signer without code',
        effect: `no transfer of the native currency from ${OWNER} to ${FRIEND}`,
      },
    ])
  })

  it('holds if the fee recipient is paid, but changes if an amount depends on the gas price', async () => {
    expect((await outcomeOf(assemble('0 0 0 0 5 COINBASE GAS CALL POP STOP'))).verdict).toBe('holds')
    const refund = assemble(`0 0 0 0 GASPRICE 7 MUL ${BigInt(FRIEND)} GAS CALL POP STOP`)
    expect((await outcomeOf(refund)).verdict).toBe('changes')
  })

  it('changes if the call fails with little more gas than it used', async () => {
    const needs = assemble(`GAS 100000 LT >on JUMPI 0 0 REVERT @on ${PAY} STOP`)
    const { verdict, because } = await outcomeOf(needs, { call: { gas: '0x30000' } })
    expect(verdict).toBe('changes')
    expect(because).toEqual([{ fact: { kind: 'gasLeft' }, under: 'little more gas than it used', effect: 'fails' }])
  })

  it('is "watched" for a trap, with the fact that it reads and its effect', async () => {
    const program = `PREVRANDAO ISZERO >honest JUMPI 0 0 0 0 9 ${BigInt(THIEF)} GAS CALL POP STOP @honest ${PAY} STOP`
    expect(await outcomeOf(assemble(program))).toEqual({
      verdict: 'watched',
      because: [
        {
          fact: { kind: 'prevRandao' },
          under: 'another prevRandao',
          effect: `no transfer of the native currency from ${TARGET} to ${FRIEND}`,
        },
      ],
    })
  })

  it('is "watched" for every published kind of trap', async () => {
    const missed: string[] = []
    for (const { name, code, others, byNobody } of incidents()) {
      const { verdict } = await outcomeOf(code, { call: byNobody ? { from: undefined } : {}, others, slots: SLOTS })
      if (verdict !== 'watched') missed.push(`${name}: ${verdict}`)
    }
    expect(incidents().length).toBeGreaterThanOrEqual(20)
    expect(missed).toEqual([])
  })

  it(`is "watched" for traps, however they hide what they read: one in ${EVERY} of them`, async () => {
    const missed: string[] = []
    const some = traps().filter((_, at) => at % EVERY === 0)
    for (const { name, code, others, byNobody } of some) {
      const { verdict } = await outcomeOf(code, { call: byNobody ? { from: undefined } : {}, others, slots: SLOTS })
      if (verdict !== 'watched') missed.push(`${name}: ${verdict}`)
    }
    expect(some.length).toBeGreaterThan(200)
    expect(missed).toEqual([])
  }, 120_000)

  it('holds for the same programs if they read what any block has', async () => {
    const taken: string[] = []
    for (const noticed of ['TIMESTAMP ISZERO ISZERO', '33 SLOAD', 'ADDRESS BALANCE ISZERO ISZERO']) {
      for (const { name, code, others } of traps({ noticed: { program: noticed } })) {
        const { verdict } = await outcomeOf(code, { others, slots: { ...SLOTS, [word(33)]: word(1) } })
        if (verdict !== 'holds') taken.push(`${name}: ${verdict}`)
      }
    }
    expect(taken).toEqual([])
  })
})

import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { startGenesisUpstream } from './genesis-upstream.js'

const OWNER = '0xa000000000000000000000000000000000000000'
const FRIEND = '0xf000000000000000000000000000000000000001'
const TARGET = '0x7000000000000000000000000000000000000001'
const CALLEE = '0x7000000000000000000000000000000000000002'

const word = (value: bigint | number | string) => `0x${BigInt(value).toString(16).padStart(64, '0')}`
/** Emits a transfer of the token; the amount is on the stack. */
const TELL = `0 MSTORE ${BigInt(FRIEND)} ${BigInt(OWNER)} 0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef 32 0 LOG3`
const PAY = `5 ${TELL} STOP`

let upstream: Awaited<ReturnType<typeof startGenesisUpstream>>
let gateway: GatewayProcess

beforeAll(async () => {
  upstream = await startGenesisUpstream()
  gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url, DIALECT: 'ethereum' })
})

afterAll(async () => {
  await gateway?.stop()
  upstream?.close()
})

interface Dependency {
  fact: { kind: string; address?: string; slot?: string; number?: string }
  value: string
  reached: string[]
}

/** The facts that decide the outcome of a program. */
async function depends(
  program: string,
  { slots = {}, calls = [{}], others = {} }: { slots?: Record<string, string>; calls?: object[]; others?: object } = {},
): Promise<Dependency[][]> {
  const stateOverrides = {
    [OWNER]: { balance: '0xde0b6b3a7640000' },
    [TARGET]: { code: assemble(program), stateDiff: slots },
    ...others,
  }
  const payload = {
    blockStateCalls: [{ stateOverrides, calls: calls.map((call) => ({ from: OWNER, to: TARGET, ...call })) }],
    depends: true,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params: [payload, 'latest'] })
  const response = await fetch(gateway.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  // biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
  const { result, error } = (await response.json()) as any
  if (error) throw new Error(error.message)
  for (const { depends } of result[0].calls) expect(depends.isPartial).toBe(false)
  return result[0].calls.map((call: { depends: { facts: Dependency[] } }) => call.depends.facts)
}

const only = async (program: string, options?: Parameters<typeof depends>[1]) => (await depends(program, options))[0]!
const summary = (facts: Dependency[]) => facts.map(({ fact, reached }) => [fact.kind, ...reached])

describe('depends', () => {
  it('names a slot that a branch before a transfer reads', async () => {
    const facts = await only(`7 SLOAD 3 EQ >pay JUMPI STOP @pay ${PAY}`, { slots: { [word(7)]: word(3) } })
    expect(facts).toEqual([
      { fact: { kind: 'slot', address: TARGET, slot: word(7) }, value: '0x3', reached: ['branch'] },
    ])
  })

  it('omits facts that decide nothing', async () => {
    expect(await only(`7 SLOAD POP TIMESTAMP POP ${PAY}`)).toEqual([])
    expect(await only('7 SLOAD >on JUMPI 0 5 SSTORE @on STOP')).toEqual([])
    expect(await only(`7 SLOAD >on JUMPI STOP @on ${PAY}`)).toHaveLength(1)
  })

  it('names the fact behind a failure, and behind a guard that did not fail', async () => {
    const slots = { [word(7)]: word(3) }
    expect(summary(await only('7 SLOAD >on JUMPI STOP @on 0 0 REVERT', { slots }))).toEqual([['slot', 'branch']])
    expect(summary(await only('7 SLOAD >on JUMPI 0 0 REVERT @on STOP', { slots }))).toEqual([['slot', 'guard']])
  })

  it('follows a value through arithmetic, memory, hashing, storage and transient storage to an amount', async () => {
    const made = 'TIMESTAMP 3 ADD 64 MSTORE 32 64 SHA3 9 TSTORE 9 TLOAD 4 SSTORE 4 SLOAD'
    expect(summary(await only(`${made} ${TELL} STOP`))).toEqual([['time', 'amount', 'selection']])
    expect(summary(await only(`TIMESTAMP 3 ADD ${TELL} STOP`))).toEqual([['time', 'amount']])
  })

  it('follows a value into a call and its return data', async () => {
    const echo = assemble('0 CALLDATALOAD 0 MSTORE 32 0 RETURN')
    const call = `COINBASE 0 MSTORE 32 32 32 0 0 ${BigInt(CALLEE)} GAS CALL POP 32 MLOAD >pay JUMPI STOP @pay ${PAY}`
    const facts = await only(call, { others: { [CALLEE]: { code: echo } } })
    expect(summary(facts)).toContainEqual(['coinbase', 'branch'])
  })

  it('names facts behind a selection without a branch, a jump target, a slot number and a created address', async () => {
    expect(summary(await only(`7 NUMBER EQ 5 MUL ${TELL} STOP`))).toEqual([['number', 'amount', 'selection']])
    expect(summary(await only(`0 PREVRANDAO EQ 0 MUL >pay ADD JUMP @pay ${PAY}`))).toEqual([['prevRandao', 'jump']])
    expect(summary(await only(`PREVRANDAO SLOAD POP ${PAY}`))).toEqual([['prevRandao', 'slot']])
    expect(summary(await only(`COINBASE 0 0 0 CREATE2 POP ${PAY}`))).toEqual([['coinbase', 'target']])
  })

  it('names the fee recipient if it is paid, and the balances that pay', async () => {
    const facts = await only('0 0 0 0 1 COINBASE GAS CALL STOP', { calls: [{ value: '0x1' }] })
    expect(summary(facts)).toEqual([
      ['balance', 'guard'],
      ['coinbase', 'recipient'],
      ['balance', 'guard'],
    ])
  })

  it('names the delegation of an account (EIP-7702)', async () => {
    const code = assemble(PAY)
    const others = { [OWNER]: { code: `0xef0100${CALLEE.slice(2)}` }, [CALLEE]: { code } }
    const facts = await only('STOP', { calls: [{ to: OWNER }], others })
    expect(facts).toEqual([{ fact: { kind: 'code', address: OWNER }, value: CALLEE, reached: ['target'] }])
  })

  it('ignores writes of a frame that reverted', async () => {
    const writes = assemble('COINBASE 1 SSTORE 0 0 REVERT')
    const program = `0 0 0 0 ${BigInt(CALLEE)} GAS DELEGATECALL POP 1 SLOAD >pay JUMPI STOP @pay ${PAY}`
    const facts = await only(program, { slots: { [word(1)]: word(1) }, others: { [CALLEE]: { code: writes } } })
    expect(summary(facts)).toEqual([['slot', 'branch']])
  })

  it('remembers what a slot was computed from in later calls', async () => {
    const program = `CALLVALUE >use JUMPI COINBASE >on JUMPI 2 2 SSTORE @on 1 3 SSTORE STOP @use 3 SLOAD >pay JUMPI STOP @pay ${PAY}`
    const [, second] = await depends(program, { calls: [{}, { value: '0x1' }] })
    expect(summary(second!)).toContainEqual(['coinbase', 'branch'])
  })
})

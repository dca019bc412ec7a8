import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { startGenesisUpstream } from './genesis-upstream.js'

const OWNER = '0xa000000000000000000000000000000000000000'
const FRIEND = '0xf000000000000000000000000000000000000001'
const TARGET = '0x7000000000000000000000000000000000000001'
const RICH = { balance: '0xde0b6b3a7640000' }
const SLOT = `0x${'7'.padStart(64, '0')}`
/** A transaction that sends it data stops its payments to a friend. */
const CODE = assemble(
  `CALLDATASIZE >end JUMPI 7 SLOAD >on JUMPI 0 0 0 0 5 ${BigInt(FRIEND)} GAS CALL POP @on STOP @end 1 7 SSTORE STOP`,
)
const ENDS = { from: FRIEND, to: TARGET, input: '0x01' }
const CHANGED = {
  fact: { kind: 'slot', address: TARGET, slot: SLOT },
  under: 'a place after a waiting transaction',
  effect: `no transfer of the native currency from ${TARGET} to ${FRIEND}`,
}

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

async function ask(waiting: unknown, more: object = { depends: true, outcome: true }, blockOverrides = {}) {
  const stateOverrides = { [OWNER]: RICH, [FRIEND]: RICH, [TARGET]: { ...RICH, code: CODE } }
  const block = { stateOverrides, blockOverrides, calls: [{ from: OWNER, to: TARGET }] }
  const payload = { blockStateCalls: [block], waiting, ...more }
  // biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
  const { result, error } = await gateway.call<any>('upfront_simulate', [payload, 'latest'])
  if (error) throw new Error((error as { message: string }).message)
  return result.at(-1)
}

it('tries waiting transactions before the calls, and names the facts that they change', async () => {
  const { calls } = await ask([ENDS])
  expect(calls).toHaveLength(1)
  expect(calls[0].outcome).toEqual({ verdict: 'changes', because: [CHANGED] })
  const [slot] = calls[0].depends.facts.filter(({ fact }: { fact: { kind: string } }) => fact.kind === 'slot')
  expect(slot).toMatchObject({ fact: CHANGED.fact, waiting: 1 })
})

it('tries waiting transactions together, and each alone if not all are valid', async () => {
  const idle = { from: FRIEND, to: OWNER, value: '0x1' }
  const together = (await ask([idle, ENDS])).calls[0].outcome
  expect(together.because).toEqual([{ ...CHANGED, under: 'a place after 2 waiting transactions' }])
  const tooMuch = { ...idle, value: '0xffffffffffffffffffff' }
  const alone = (await ask([tooMuch, idle, ENDS])).calls[0].outcome
  expect(alone.because).toEqual([CHANGED])
  expect((await ask([tooMuch])).calls[0].outcome).toEqual({ verdict: 'holds', because: [] })
})

it('tries waiting transactions before calls of a later block', async () => {
  const { calls } = await ask([ENDS], undefined, { number: '0x20' })
  expect(calls).toHaveLength(1)
  expect(calls[0].outcome).toEqual({ verdict: 'changes', because: [CHANGED] })
})

it('accepts signed waiting transactions', async () => {
  const { result: chainId } = await gateway.call<string>('eth_chainId', [])
  const account = privateKeyToAccount(generatePrivateKey())
  const fields = { to: TARGET, value: 1n, gas: 100_000n, gasPrice: 0n, nonce: 0, chainId: Number(chainId) } as const
  const signed = await account.signTransaction({ type: 'legacy', ...fields })
  // The signer has no funds.
  expect((await ask([signed])).calls[0].outcome.verdict).toBe('holds')
  const empty = await account.signTransaction({ type: 'legacy', ...fields, to: FRIEND, value: 0n })
  expect((await ask([empty, ENDS])).calls[0].outcome.because).toEqual([
    { ...CHANGED, under: 'a place after 2 waiting transactions' },
  ])
})

it('rejects a malformed waiting transaction and names the field', async () => {
  await expect(ask([ENDS], {})).rejects.toThrow('waiting: requires `outcome: true`')
  await expect(ask('0x')).rejects.toThrow('waiting: expected an array of transactions')
  await expect(ask(['0x1234'])).rejects.toThrow('waiting[0]: expected a signed transaction')
  await expect(ask([{ ...ENDS, value: '1' }])).rejects.toThrow('waiting[0].value: expected a hex quantity')
  await expect(ask(Array(33).fill(ENDS))).rejects.toThrow('waiting: expected at most 32 transactions, got 33')
})

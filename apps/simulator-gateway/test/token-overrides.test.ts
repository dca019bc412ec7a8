import { readArtifact } from '@upfront/devnet'
import { encodeAbiParameters, encodeFunctionData, erc20Abi, type Hex, keccak256 } from 'viem'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { startGenesisUpstream } from './genesis-upstream.js'

const CODE = readArtifact('TokenLayouts').deployedBytecode
const TOKEN = `0x70${'0'.repeat(37)}1` as const
const STORE = `0x70${'0'.repeat(37)}2` as const
const LOGIC = `0x70${'0'.repeat(37)}3` as const
const OWNER = `0xa0${'0'.repeat(37)}1` as const
const OTHER = `0xa0${'0'.repeat(37)}2` as const
const SPENDER = `0xb0${'0'.repeat(37)}1` as const

let upstream: Awaited<ReturnType<typeof startGenesisUpstream>>
let gateway: GatewayProcess

beforeAll(async () => {
  upstream = await startGenesisUpstream()
  gateway = await startGateway({
    UPSTREAM_RPC_URL: upstream.url,
    DIALECT: 'ethereum',
    LIMITS: { callsPerSecond: 1_000 },
  })
})

afterAll(async () => {
  await gateway?.stop()
  upstream?.close()
})

const word = (value: bigint | string): Hex => `0x${BigInt(value).toString(16).padStart(64, '0')}`
const hex = (value: bigint): Hex => `0x${value.toString(16)}`
const MODE = word(0xffff0001n)
const SHARED = word(0xffff0002n)
const TOTAL = word(0xffff0003n)
const STORED_AT = word(0xffff0004n)
const slotOf = (key: Hex, base: bigint): Hex =>
  keccak256(encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [BigInt(key), base]))
const pairOf = (owner: Hex, spender: Hex): Hex =>
  `0x${keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'address' }], [owner, spender])).slice(26)}`
const asked = {
  balance: encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [OWNER] }),
  other: encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [OTHER] }),
  allowance: encodeFunctionData({ abi: erc20Abi, functionName: 'allowance', args: [OWNER, SPENDER] }),
}

interface Layout {
  name: string
  mode: number
  /** Slots of the token besides its mode, by the key of the account or the allowance. */
  state?: (key: Hex) => Record<Hex, Hex>
  /** Default: 1,000,003. */
  amount?: bigint
  /** The most that the token's own words can be: what else stands in the slot stays. */
  code?: Hex
}

const overridesOf = ({ mode, state, code = CODE }: Layout) => {
  const of = (key: Hex) => state?.(key) ?? {}
  const stateDiff = { [MODE]: word(BigInt(mode)), ...of(OWNER), ...of(pairOf(OWNER, SPENDER)) }
  return {
    [TOKEN]: { code, stateDiff },
    [STORE]: { code: CODE },
    [LOGIC]: { code: CODE },
  }
}

async function simulate(stateOverrides: object, inputs: Hex[]) {
  const calls = inputs.map((input) => ({ to: TOKEN, input }))
  const answer = await gateway.call('upfront_simulate', [{ blockStateCalls: [{ stateOverrides, calls }] }, 'latest'])
  // biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
  const { result, error } = answer as { result?: any; error?: { code: number; message: string } }
  return { error, answers: result?.[0].calls.map(({ returnData }: { returnData: Hex }) => BigInt(returnData)) }
}

const proxy1167 = `0x363d3d373d3d3d363d73${LOGIC.slice(2)}5af43d82803e903d91602b57fd5bf3` as Hex
const IMPLEMENTATION = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
const proxy1967 = assemble(
  `CALLDATASIZE 0 0 CALLDATACOPY 0 0 CALLDATASIZE 0 ${BigInt(IMPLEMENTATION)} SLOAD GAS DELEGATECALL POP RETURNDATASIZE 0 0 RETURNDATACOPY RETURNDATASIZE 0 RETURN`,
) as Hex
const shared = (value: bigint) => () => ({ [SHARED]: word(value) })

const FOUND: Layout[] = [
  { name: 'Solidity’s mapping', mode: 0 },
  { name: 'Solidity’s mapping at a higher slot, as upgradeable contracts have it', mode: 1 },
  { name: 'a mapping at a namespace of ERC-7201', mode: 2 },
  { name: 'Vyper’s mapping', mode: 3 },
  { name: 'Solady’s', mode: 4 },
  { name: 'the slot of the address itself', mode: 5 },
  { name: 'a mapping of mappings', mode: 6 },
  { name: 'the lower half of a slot', mode: 7, state: (key) => ({ [slotOf(key, 0n)]: word(9n << 128n) }) },
  { name: 'the upper half of a slot', mode: 8, state: (key) => ({ [slotOf(key, 0n)]: word(9n) }) },
  { name: '96 bits above an address', mode: 9, state: (key) => ({ [slotOf(key, 0n)]: word(OTHER) }) },
  { name: '255 bits below a flag', mode: 10, state: (key) => ({ [slotOf(key, 0n)]: word(1n << 255n) }) },
  { name: '255 bits above a flag', mode: 11, state: (key) => ({ [slotOf(key, 0n)]: word(1n) }) },
  { name: '112 bits in the middle', mode: 12, state: (key) => ({ [slotOf(key, 0n)]: word(1n << 200n) }) },
  { name: '64 bits in the middle', mode: 13 },
  {
    name: 'the newest of an account’s checkpoints',
    mode: 14,
    state: (key) => ({ [slotOf(key, 4n)]: word(1n), [slotOf(key, 5n)]: word(77n) }),
  },
  { name: 'shares times an index', mode: 16, state: shared(999n), amount: 999_000n },
  { name: 'shares of a total', mode: 17, state: () => ({ [SHARED]: word(11n), [TOTAL]: word(13n) }) },
  { name: 'parts of a fragment', mode: 18, state: shared(10n ** 50n) },
  {
    name: 'scaled, rounded, beside an index of the account',
    mode: 19,
    state: (key) => ({ [SHARED]: word(1_070_000_000_000_000_000_000_000_000n), [slotOf(key, 0n)]: word(5n << 128n) }),
  },
  { name: 'a view that refuses large numbers', mode: 20 },
  { name: 'a view that refuses who is blocked', mode: 21 },
  { name: 'another contract that keeps the amounts', mode: 30, state: () => ({ [STORED_AT]: word(STORE) }) },
  { name: 'a number that is shown with more digits', mode: 35, amount: 5n * 10n ** 12n },
  {
    name: 'with interest since a time in the same slot',
    mode: 36,
    state: (key) => ({ [slotOf(key, 0n)]: word((1n << 128n) | 5n) }),
  },
  { name: 'reflected amounts', mode: 37, state: shared(12_345n) },
  {
    name: 'a list by the place of the account',
    mode: 39,
    state: (key) => ({ [slotOf(key, 11n)]: word(BigInt(key) & 0xffn) }),
  },
  { name: 'one more than there is', mode: 40 },
  { name: 'all bits', mode: 0, amount: (1n << 256n) - 1n },
  { name: 'a minimal proxy', mode: 0, code: proxy1167 },
  { name: 'a minimal proxy of packed slots', mode: 9, code: proxy1167 },
  { name: 'an ERC-1967 proxy', mode: 2, code: proxy1967, state: () => ({ [IMPLEMENTATION]: word(LOGIC) }) },
  {
    name: 'an ERC-1967 proxy of shares',
    mode: 18,
    code: proxy1967,
    state: () => ({ [IMPLEMENTATION]: word(LOGIC), [SHARED]: word(7n) }),
  },
]

const REFUSED: (Layout & { why: RegExp })[] = [
  {
    name: 'no slot at all',
    mode: 0,
    code: assemble('7 0 MSTORE 32 0 RETURN'),
    why: /reads no slot that belongs to this holder alone/,
  },
  {
    name: 'a slot that all share and no other',
    mode: 0,
    code: assemble('9 SLOAD 0 MSTORE 32 0 RETURN'),
    why: /belongs to this holder alone/,
  },
  { name: 'the same for everybody', mode: 22, why: /no single slot/ },
  { name: 'a slot that all share', mode: 23, why: /no single slot/ },
  { name: 'bounded by what all share', mode: 24, state: shared(1_000n), why: /nearest|by itself/ },
  { name: 'the sum of two slots', mode: 25, why: /several slots/ },
  {
    name: 'the sum of two slots that hold something',
    mode: 25,
    state: (key) => ({ [slotOf(key, 0n)]: word(4n), [slotOf(key, 12n)]: word(4n) }),
    why: /no single slot/,
  },
  { name: 'the hash of a slot', mode: 28, why: /no single slot/ },
  { name: 'always the same once there is something', mode: 29, why: /no single slot/ },
  {
    name: 'a constant once there is something, as much as is asked for',
    mode: 42,
    state: shared(1_000_003n),
    why: /no single slot/,
  },
  { name: 'never nothing', mode: 34, why: /no single slot/ },
  { name: 'bounded by a constant', mode: 41, why: /by itself|nearest/ },
  { name: 'no checkpoint yet', mode: 14, why: /no single slot/ },
  { name: 'no number', mode: 99, why: /returns no number/ },
  { name: 'more than its bits hold', mode: 13, amount: 1n << 64n, why: /in 64 bits: at most 18446744073709551615/ },
  { name: 'between two shares', mode: 35, amount: 10n ** 12n + 1n, why: /the nearest is/ },
]

it('tests at least forty token layouts', () => {
  expect(FOUND.length + REFUSED.length).toBeGreaterThanOrEqual(40)
})

describe('stateOverrides.erc20', () => {
  const balances = { [OWNER]: '0x5', [OTHER]: '0x7' }
  const token = { [TOKEN]: { code: CODE } }

  it('sets several balances and allowances, in later blocks too, and calls can spend them', async () => {
    const erc20 = { [TOKEN]: { balances, allowances: { [OWNER]: { [SPENDER]: '0x9' } } } }
    const calls = [asked.balance, asked.other, asked.allowance].map((input) => ({ to: TOKEN, input }))
    const later = { [TOKEN]: { balances: { [OTHER]: '0x8' } } }
    const blocks = [
      { stateOverrides: { ...token, erc20 }, calls },
      { stateOverrides: { erc20: later }, calls },
    ]
    const { result } = await gateway.call('upfront_simulate', [{ blockStateCalls: blocks }, 'latest'])
    const answers = (result as { calls: { returnData: Hex }[] }[]).map((block) =>
      block.calls.map((call) => BigInt(call.returnData)),
    )
    expect(answers).toEqual([
      [5n, 7n, 9n],
      [5n, 8n, 9n],
    ])
  })

  it.each([
    [
      { erc20: { [TOKEN]: { balances: { [OWNER]: 5 } } } },
      `erc20["${TOKEN}"].balances["${OWNER}"]: expected a hex quantity`,
    ],
    [{ erc20: { [TOKEN]: { balance: {} } } }, 'unknown field "balance"; did you mean `balances`?'],
    [{ erc20: { '0x12': {} } }, 'erc20["0x12"]: expected an address'],
    [{ erc20: [] }, 'erc20: expected an object keyed by token'],
    [
      {
        erc20: {
          [TOKEN]: {
            balances: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`0x${'0'.repeat(38)}${n + 10}`, '0x1'])),
          },
        },
      },
      'at most 32 balances and allowances',
    ],
  ])('rejects malformed overrides by name: %j', async (overrides, problem) => {
    const { error } = await simulate({ ...token, ...overrides }, [asked.balance])
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(problem) })
  })

  it('is rejected in eth_simulateV1, as in geth', async () => {
    const payload = { blockStateCalls: [{ stateOverrides: { erc20: { [TOKEN]: { balances } } } }] }
    const { error } = await gateway.call('eth_simulateV1', [payload, 'latest'])
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('erc20: expected an address') })
  })
})

describe.each(['balances', 'allowances'] as const)('stateOverrides.erc20, %s', (kind) => {
  const erc20 = (amount: bigint) => ({
    [TOKEN]:
      kind === 'balances'
        ? { balances: { [OWNER]: hex(amount) } }
        : { allowances: { [OWNER]: { [SPENDER]: hex(amount) } } },
  })
  const view = kind === 'balances' ? asked.balance : asked.allowance

  it.each(FOUND)('are set: $name', async (layout) => {
    const { amount = 1_000_003n } = layout
    const before = await simulate(overridesOf(layout), [asked.other])
    const { error, answers } = await simulate({ ...overridesOf(layout), erc20: erc20(amount) }, [view, asked.other])
    expect(error).toBeUndefined()
    expect(answers).toEqual([amount, before.answers[0]])
  })

  it.each(REFUSED)('are rejected with the reason: $name', async (layout) => {
    const { amount = 1_000_003n, why } = layout
    const { error } = await simulate({ ...overridesOf(layout), erc20: erc20(amount) }, [view])
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(why) })
    expect(error?.message).toMatch(/^blockStateCalls\[0\]\.stateOverrides\.erc20\["0x70/)
  })
})

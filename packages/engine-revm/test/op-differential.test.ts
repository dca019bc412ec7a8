import {
  developmentBase,
  developmentPoint,
  developmentRules,
  developmentState,
  differences,
  drive,
  NEVER,
  RandomRequest,
  simulated,
} from '@upfront/engine-conformance'
import { type Address, DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, type Hex, RpcError } from '@upfront/protocol'
import {
  type AccountChange,
  type Engine,
  type OpFork,
  planSimulation,
  type SimulationPlan,
  SimulationRejected,
  type StateLayer,
} from '@upfront/simulation'
import { numberToHex, pad } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'

// `npm run fuzz` runs this file on other seeds.
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1)
const SEEDS = Number(process.env.FUZZ_SEEDS ?? 17)
/** A time after Osaka on the development chain. */
const OSAKA_TIME = 4_100n
const FORKS: OpFork[] = ['karst', 'azul', 'denim']

interface RandomBlock {
  blockOverrides: Record<string, unknown>
  stateOverrides: Record<string, Record<string, unknown>>
  calls: Record<string, unknown>[]
}

/** A random request without features that differ on OP chains: blobs and validation. */
function requestOf(seed: number): { blockStateCalls: RandomBlock[] } {
  const payload = new RandomRequest(seed).payload() as { blockStateCalls: RandomBlock[] }
  const blockStateCalls = payload.blockStateCalls.map(({ blockOverrides, stateOverrides, calls }) => {
    const { blobBaseFee: _, time: __, withdrawals: ___, ...overrides } = blockOverrides
    return {
      blockOverrides: overrides,
      stateOverrides,
      calls: calls.map(({ blobVersionedHashes: _, maxFeePerBlobGas: __, ...call }) => call),
    }
  })
  blockStateCalls[0]!.blockOverrides.time = numberToHex(OSAKA_TIME + 1n)
  return { ...payload, ...{ validation: false, returnFullTransactions: false }, blockStateCalls }
}

function planOf(payload: object): SimulationPlan {
  const request = decodeSimulationRequest(JSON.parse(JSON.stringify([payload, 'latest'])), DEFAULT_SIMULATION_LIMITS)
  const base = { ...developmentBase, timestamp: OSAKA_TIME }
  return planSimulation(request, base, developmentRules, DEFAULT_SIMULATION_LIMITS)
}

function under(opFork: OpFork, plan: SimulationPlan): SimulationPlan {
  const blocks = plan.blocks.map((block) => ({ ...block, rules: { fork: 'osaka' as const, opFork } }))
  return { ...plan, blocks, baseRules: { fork: 'osaka', opFork }, rules: { ...plan.rules, stack: 'optimism' } }
}

/** The effects of a plan's calls; for a refused request the reason. */
async function outcome(engine: Engine, plan: () => SimulationPlan): Promise<unknown> {
  try {
    const { blocks } = await simulated(engine, plan())
    return blocks.map(({ calls }) =>
      calls.map(({ logs, ...call }) => ({
        ...call,
        logs: logs.map(({ address, topics, data, logIndex }) => ({ address, topics, data, logIndex })),
      })),
    )
  } catch (error) {
    if (error instanceof SimulationRejected) return { block: error.block, call: error.call, rejection: error.rejection }
    if (error instanceof RpcError) return error.message
    throw error
  }
}

describe.each(BUILDS)('OP-stack rules, on the %s build', (_build, create) => {
  let engine: RevmEngine
  beforeAll(() => {
    engine = create()
  })
  afterAll(() => engine.close())

  const range = `seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`

  it(`give calls the same effects as on Ethereum: ${range}`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const payload = requestOf(seed)
      const fork = FORKS[seed % FORKS.length]!
      const ours = await outcome(engine, () => under(fork, planOf(payload)))
      const theirs = await outcome(engine, () => planOf(payload))
      expect({ seed, found: differences(theirs, ours) }).toEqual({ seed, found: [] })
    }
  }, 3_600_000)

  it(`give validated calls the receipts and balances of signed transactions: ${range}`, async () => {
    let [executed, operatorFees] = [0, 0n]
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const fork = FORKS[seed % FORKS.length]!
      const block = await blockOf(seed)
      const { accounts } = block
      const plan = under(fork, planOf(block.payload))
      const at = { ...developmentPoint, layers: [block.state] }
      const { blocks } = await simulated(engine, plan, { at })
      const [planned] = plan.blocks
      const execution = {
        rules: plan.rules,
        block: { ...planned!, parentHash: developmentBase.hash, baseFeePerGas: BASE_FEE },
        opening: true,
        transactions: block.signed,
        earlierReceipts: [],
      }
      const run = await drive(engine.execute(execution, at, NEVER), developmentState().state)
      const [calls, [probe]] = [blocks[0]!.calls, blocks[1]!.calls]
      expect({
        seed,
        receipts: calls.map(({ gasUsed, status, logs }) => ({
          gasUsed: BigInt(gasUsed),
          succeeded: status === '0x1',
          logs: logs.map(({ address, topics, data }) => ({ address, topics, data })),
        })),
        balances: words(probe!.returnData),
      }).toEqual({
        seed,
        receipts: run.receipts.map(({ gasUsed, succeeded, logs }) => ({
          ...{ gasUsed, succeeded },
          logs: logs.map(({ address, topics, data }) => ({ address, topics, data })),
        })),
        balances: accounts.map((address) => balanceAfter([block.state, ...run.layers], address)),
      })
      executed += run.receipts.length
      operatorFees += balanceAfter(run.layers, OPERATOR_FEE_VAULT)
    }
    expect(executed).toBeGreaterThan(SEEDS)
    expect(operatorFees).toBeGreaterThan(0n)
  }, 3_600_000)
})

const SIGNERS = [1, 2, 3].map((index) => privateKeyToAccount(pad(numberToHex(0x5000 + index))))
const BASE_FEE = 1_000n
const PROBE: Address = `0x9${'7'.repeat(39)}`
/** Pays for reading the balances and is otherwise uninvolved. */
const PROBER: Address = `0x9${'6'.repeat(39)}`
const COINBASE: Address = `0xf${'7'.padStart(39, '0')}`
const L1_BLOCK: Address = '0x4200000000000000000000000000000000000015'
/** The base fee, L1 fee and operator fee vaults; the tip goes to the coinbase. */
const OPERATOR_FEE_VAULT: Address = '0x420000000000000000000000000000000000001b'
const VAULTS: Address[] = [
  '0x4200000000000000000000000000000000000019',
  '0x420000000000000000000000000000000000001a',
  OPERATOR_FEE_VAULT,
]
/** Isthmus: the operator fee's scalar and constant, packed in slot 8. L1 fees stay zero, because they depend on the signature's bytes. */
const OPERATOR_FEE: Hex = pad(`0x${'0000ffff'}${'00000000000003e8'}`)

/** A block of random signed transactions, and the request that simulates it, with a second block that reads the balances. */
async function blockOf(seed: number) {
  const { blockStateCalls } = requestOf(seed)
  const given = blockStateCalls[0]!
  const state: Record<Address, AccountChange> = {}
  for (const [address, { balance, nonce, code }] of Object.entries(given.stateOverrides)) {
    state[address as Address] = {
      ...(balance !== undefined && { balance: BigInt(balance as Hex) }),
      ...(nonce !== undefined && { nonce: BigInt(nonce as Hex) }),
      ...(code !== undefined && { code: code as Hex }),
      ...{ storageCleared: false, storage: new Map() },
    }
  }
  const blank = { storageCleared: false, storage: new Map() }
  for (const { address } of SIGNERS) state[address.toLowerCase() as Address] = { ...blank, balance: 10n ** 18n }
  state[PROBER] = { ...blank, balance: 10n ** 18n }
  state[L1_BLOCK] = { ...blank, storage: new Map([[pad('0x8'), OPERATOR_FEE]]) }
  const nonces = new Map<PrivateKeyAccount, number>()
  const signed: Hex[] = []
  const calls: object[] = []
  for (const [index, call] of given.calls.entries()) {
    const signer = SIGNERS[(seed + index) % SIGNERS.length]!
    const nonce = nonces.get(signer) ?? 0
    nonces.set(signer, nonce + 1)
    const input = (call.input ?? call.data ?? '0x') as Hex
    const to = call.to as Address | undefined
    const value = BigInt((call.value as Hex) ?? 0) % 10_000n
    // Above any intrinsic gas and calldata floor here, so that each transaction is valid.
    const gas = BigInt((call.gas as Hex) ?? 300_000) + 200_000n
    const fees = { maxFeePerGas: 5_000n, maxPriorityFeePerGas: 7n }
    const legacy = (seed + index) % 4 === 0
    const shared = { chainId: 7_357, nonce, gas, value, data: input, ...(to !== undefined && { to }) }
    signed.push(
      await signer.signTransaction(
        legacy ? { ...shared, type: 'legacy', gasPrice: 5_000n } : { ...shared, type: 'eip1559', ...fees },
      ),
    )
    calls.push({
      ...{ from: signer.address, input, nonce: numberToHex(nonce), gas: numberToHex(gas), value: numberToHex(value) },
      ...(to !== undefined && { to }),
      ...(legacy
        ? { gasPrice: numberToHex(5_000n) }
        : { maxFeePerGas: numberToHex(5_000n), maxPriorityFeePerGas: numberToHex(7n) }),
    })
  }
  const accounts = [
    ...SIGNERS.map(({ address }) => address.toLowerCase() as Address),
    ...Object.keys(given.stateOverrides).map((address) => address as Address),
    ...VAULTS,
    COINBASE,
  ]
  const { prevRandao, beaconRoot } = given.blockOverrides
  const environment = {
    ...(prevRandao !== undefined && { prevRandao }),
    ...(beaconRoot !== undefined && { beaconRoot }),
    ...{ time: numberToHex(OSAKA_TIME + 1n), feeRecipient: COINBASE },
    ...{ baseFeePerGas: numberToHex(BASE_FEE), gasLimit: numberToHex(60_000_000n) },
  }
  const payload = {
    validation: true,
    blockStateCalls: [
      { blockOverrides: environment, calls },
      {
        blockOverrides: { baseFeePerGas: '0x0' },
        stateOverrides: { [PROBE]: { code: balancesOf(accounts) } },
        calls: [{ from: PROBER, to: PROBE, gas: '0x7a1200', maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x0' }],
      },
    ],
  }
  const layer: StateLayer = { id: `op-fuzz-${seed}`, accounts: new Map(Object.entries(state)) as never }
  return { state: layer, signed, payload, accounts }
}

/** Code that returns these accounts' balances. */
function balancesOf(accounts: readonly Address[]): Hex {
  const steps = accounts.map((address, index) => `73${address.slice(2)}3161${hex2(32 * index)}52`)
  return `0x${steps.join('')}61${hex2(32 * accounts.length)}5ff3`
}

function hex2(value: number): string {
  return value.toString(16).padStart(4, '0')
}

function words(data: Hex): bigint[] {
  return (data.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))
}

function balanceAfter(layers: readonly StateLayer[], address: Address): bigint {
  const changed = layers
    .map((layer) => layer.accounts.get(address)?.balance)
    .findLast((balance) => balance !== undefined)
  if (changed !== undefined) return changed
  const [balance] = developmentState().state.read([{ kind: 'balance', address }])
  return balance as bigint
}

import {
  callPlan,
  developmentBase,
  developmentRules,
  developmentState,
  drive,
  NEVER,
  NOBODY,
  underLayers,
} from '@upfront/engine-conformance'
import type { Address, Hash, Hex } from '@upfront/protocol'
import {
  type AccountChange,
  type BlockExecution,
  type BlockExecutionResult,
  type BlockToCarry,
  ExecutionRejected,
  ethereumForkOf,
  type OpFork,
  orderedTrieRoot,
  type StateLayer,
  type StatePoint,
} from '@upfront/simulation'
import { encodeAbiParameters, hexToBytes, keccak256, pad, toRlp } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'

const SENDER = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const PAIRING: Address = '0x0000000000000000000000000000000000000008'
const DEPOSITOR: Address = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001'
const BASE_TIME: Address = '0x4200000000000000000000000000000000000030'
/** Stores the word after the selector in slot 0. */
const BASE_TIME_CODE = '0x6004355f55'
const FACTORY: Address = '0xb20f000000000000000000000000000000000000'
const TOKEN: Address = '0xb200000000000000000001000000000000000abc'
const L1_BLOCK: Address = '0x4200000000000000000000000000000000000015'
const SOURCE_HASH: Hash = `0x${'03'.repeat(32)}`
/** EIP-7825. */
const CAP = 16_777_216n

const change = (fields: Partial<AccountChange>): AccountChange => ({
  storageCleared: false,
  storage: new Map(),
  ...fields,
})
const funded: StateLayer = {
  id: 'funded',
  accounts: new Map([
    [SENDER.address.toLowerCase() as Address, change({ balance: 10n ** 18n })],
    [BASE_TIME, change({ code: BASE_TIME_CODE })],
    [TOKEN, change({ code: '0xef' })],
  ]),
}

function executionOf(opFork: OpFork, transactions: Hex[]): BlockExecution {
  const block = callPlan({}).blocks[0]!
  return {
    rules: { ...developmentRules, stack: 'optimism' },
    block: {
      ...block,
      gasLimit: 60_000_000n,
      parentHash: developmentBase.hash,
      baseFeePerGas: 7n,
      rules: { fork: ethereumForkOf(opFork), opFork },
    },
    opening: true,
    transactions,
    earlierReceipts: [],
  }
}

const signed = (fields: { to: Address; gas: bigint; nonce?: number; data?: Hex }) =>
  SENDER.signTransaction({ chainId: 7357, nonce: 0, maxFeePerGas: 1_000n, maxPriorityFeePerGas: 0n, ...fields })

/** The block with one deposit per input, with the executed results. */
function sealedBlock(
  execution: BlockExecution,
  executed: BlockExecutionResult,
  inputs: { to: Address; input: Hex }[],
): BlockToCarry {
  const { receiptsRoot, logsBloom, gasUsed, blobGasUsed } = executed
  const { rules, block, transactions: raw } = execution
  return {
    ...{ rules, block, earlierReceipts: [], withdrawals: [] },
    ...{ receiptsRoot, logsBloom, gasUsed, blobGasUsed },
    hash: keccak256(raw.at(-1)!),
    transactionsRoot: orderedTrieRoot(raw.map((bytes) => hexToBytes(bytes))),
    transactions: inputs.map(({ to, input }, index) => ({
      ...{ type: 0x7e, to, input, gas: 1_000_000n, nonce: 0n, value: 0n, v: 0n, r: 0n, s: 0n },
      ...{ accessList: [], blobVersionedHashes: [], authorizationList: [] },
      hash: keccak256(raw[index]!),
      deposit: { sourceHash: SOURCE_HASH, from: DEPOSITOR, mint: 0n, isSystemTransaction: false },
    })),
  }
}

function deposit(from: Address, to: Address, gas: Hex, data: Hex): Hex {
  return `0x7e${toRlp([SOURCE_HASH, from, to, '0x', '0x', gas, '0x', data]).slice(2)}`
}

describe.each(BUILDS)('block executions under OP-stack forks, on the %s build', (_build, create) => {
  let engine: RevmEngine
  beforeEach(() => {
    engine = create()
  })
  afterEach(() => engine.close())

  const executed = (opFork: OpFork, ...transactions: Hex[]): Promise<BlockExecutionResult> =>
    drive(engine.execute(executionOf(opFork, transactions), underLayers(funded), NEVER), developmentState().state)

  it.each([
    ['jovian', 427, true],
    ['jovian', 428, false],
    ['karst', 300, true],
    ['karst', 301, false],
    ['azul', 427, true],
    ['azul', 428, false],
    ['denim', 427, true],
  ] as const)('%s accepts a BN254 pairing of %i pairs: %s', async (fork, pairs, succeeded) => {
    const transaction = await signed({ to: PAIRING, gas: CAP, data: `0x${'00'.repeat(192 * pairs)}` })
    const { receipts } = await executed(fork, transaction)
    expect(receipts[0]?.succeeded).toBe(succeeded)
  })

  it.each(['jovian', 'karst', 'azul', 'denim'] as const)(
    '%s applies its gas cap (none in jovian) to signed transactions, not to deposits',
    async (fork) => {
      expect((await executed(fork, await signed({ to: NOBODY, gas: CAP }))).receipts).toHaveLength(1)
      const above = executed(fork, await signed({ to: NOBODY, gas: CAP + 1n }))
      if (fork === 'jovian') expect((await above).receipts).toHaveLength(1)
      else {
        await expect(above).rejects.toBeInstanceOf(ExecutionRejected)
        await expect(above).rejects.toMatchObject({ transaction: 0, message: expect.stringContaining('cap') })
      }
      const { receipts } = await executed(fork, deposit(DEPOSITOR, NOBODY, '0x01312d00', '0x'))
      expect(receipts[0]?.succeeded).toBe(true)
    },
  )

  it.each([FACTORY, TOKEN])(
    'Base from Beryl on: a flashblock that calls B20 at %s is refused with that address',
    async (to) => {
      const transactions = [await signed({ to: NOBODY, gas: 21_000n }), await signed({ to, gas: 100_000n, nonce: 1 })]
      const { receipts } = await executed('azul', ...transactions)
      expect(receipts).toHaveLength(2)
      const refused = executed('beryl', ...transactions)
      await expect(refused).rejects.toBeInstanceOf(ExecutionRejected)
      await expect(refused).rejects.toMatchObject({
        ...{ transaction: 1, nativePrecompile: to },
        message: `${to} is a native precompile of this chain (B20), which is not simulated`,
      })
    },
  )

  it('Base from Beryl on: state is not carried over a block that calls B20', async () => {
    const source = developmentState().state
    const raw = [deposit(DEPOSITOR, FACTORY, '0x0f4240', '0x')]
    // The result of executing the account's code, unlike on Base's nodes.
    const asAzul = await drive(engine.execute(executionOf('azul', raw), underLayers(), NEVER), source)
    const at: StatePoint = { key: developmentBase.hash, layers: [] }
    const inputs = [{ to: FACTORY, input: '0x' as Hex }]
    const sealed = sealedBlock(executionOf('beryl', raw), asAzul, inputs)
    engine.provide(at.key, [{ kind: 'code', address: BASE_TIME }], [BASE_TIME_CODE])
    expect(await drive(engine.carry(sealed, at, NEVER), source)).toEqual({
      ...{ kind: 'differs', difference: 'nativePrecompile' },
      detail: expect.stringContaining(`transaction 0: ${FACTORY} is a native precompile of this chain (B20)`),
    })
    expect(engine.holds(sealed.hash)).toBe(false)
    const before = sealedBlock(executionOf('azul', raw), asAzul, inputs)
    expect(await drive(engine.carry(before, at, NEVER), source)).toMatchObject({ kind: 'carried' })
  })

  const partOf = (milliseconds: number): Hex =>
    `0x86bdf394${encodeAbiParameters([{ type: 'uint16' }], [milliseconds]).slice(2)}`

  it("Denim's second deposit stores the block's milliseconds", async () => {
    const { layers, receipts } = await executed('denim', deposit(DEPOSITOR, BASE_TIME, '0x0f4240', partOf(600)))
    expect(receipts[0]).toMatchObject({ type: 0x7e, succeeded: true })
    expect(layers[0]?.accounts.get(BASE_TIME)?.storage.get(pad('0x0'))).toBe(pad('0x258'))
  })

  it('the milliseconds are carried from block to block within a second', async () => {
    const source = developmentState().state
    const part = { kind: 'storage', address: BASE_TIME, slot: pad('0x0') } as const
    const code = { kind: 'code', address: BASE_TIME } as const
    let at: StatePoint = { key: developmentBase.hash, layers: [] }
    engine.provide(at.key, [code], [BASE_TIME_CODE])
    for (const milliseconds of [200, 400, 600, 800]) {
      const inputs = [
        { to: L1_BLOCK, input: '0x' as Hex },
        { to: BASE_TIME, input: partOf(milliseconds) },
      ]
      const raw = inputs.map(({ to, input }) => deposit(DEPOSITOR, to, '0x0f4240', input))
      const execution = executionOf('denim', raw)
      const block = sealedBlock(execution, await drive(engine.execute(execution, at, NEVER), source), inputs)
      expect(await drive(engine.carry(block, at, NEVER), source)).toMatchObject({ kind: 'carried' })
      at = { key: block.hash, layers: [] }
      expect(engine.known(at.key, [part])).toEqual([pad(`0x${milliseconds.toString(16)}`)])
    }
  })
})

import { createCustomCommon, Mainnet } from '@ethereumjs/common'
import { createTx } from '@ethereumjs/tx'
import { hexToBytes, privateToAddress } from '@ethereumjs/util'
import {
  COUNTER,
  callPlan,
  developmentBase,
  developmentGround,
  developmentRules,
  drive,
  NEVER,
  NOBODY,
  planOf,
  RICH,
  simulated,
  underLayers,
} from '@upfront/engine-conformance'
import { type Address, type Hex, toQuantity } from '@upfront/protocol'
import {
  type AccountChange,
  type BlockStretch,
  type ExecutedStretch,
  rulesAt,
  type StateLayer,
  StretchRejected,
} from '@upfront/simulation'
import { createEthereumJsEngine, type EthereumJsEngine } from '../src/index.js'
import { hexOf } from '../src/state/bytes.js'

const KEY = hexToBytes(`0x${'42'.repeat(32)}`)
const SENDER: Address = hexOf(privateToAddress(KEY))
/** Of a fork that signs what later ones refuse. */
const COMMON = createCustomCommon({ chainId: 7357 }, Mainnet, { hardfork: 'prague' })
const FEES = { maxFeePerGas: 1_000n, maxPriorityFeePerGas: 3n }
/** LOG1 of 32 bytes, then a contract of one byte. */
const DEPLOYMENT = '0x600760206000a16001601ff3'

const funded: StateLayer = {
  id: 'funded',
  accounts: new Map<Address, AccountChange>([
    [SENDER, { balance: 10n ** 18n, storageCleared: false, storage: new Map() }],
  ]),
}
const withLayers = (...layers: StateLayer[]) => underLayers(funded, ...layers)

const transactions = [
  { type: 0, nonce: 0n, gasPrice: 900n, to: NOBODY, value: 5n, gasLimit: 21_000n },
  { type: 2, nonce: 1n, ...FEES, to: COUNTER, gasLimit: 60_000n },
  { type: 2, nonce: 2n, ...FEES, data: DEPLOYMENT, gasLimit: 120_000n },
  {
    type: 1,
    nonce: 3n,
    gasPrice: 900n,
    to: COUNTER,
    gasLimit: 60_000n,
    accessList: [{ address: COUNTER, storageKeys: [] }],
  },
] as const

function sign(fields: object): Hex {
  return hexOf(
    createTx({ chainId: 7357n, ...fields }, { common: COMMON })
      .sign(KEY)
      .serialize(),
  )
}

function stretchOf(raw: Hex[], earlierReceipts: BlockStretch['earlierReceipts'] = []): BlockStretch {
  const block = callPlan({}).blocks[0]!
  return {
    rules: developmentRules,
    block: {
      ...block,
      parentHash: developmentBase.hash,
      baseFeePerGas: 7n,
      excessBlobGas: 0n,
      rules: rulesAt(developmentRules, block.number, block.timestamp)!,
    },
    opening: earlierReceipts.length === 0,
    transactions: raw,
    earlierReceipts,
  }
}

describe('a block under construction', () => {
  let engine: EthereumJsEngine

  beforeAll(() => {
    engine = createEthereumJsEngine()
  })

  afterAll(() => engine.close())

  async function execute(stretch: BlockStretch, ...layers: StateLayer[]): Promise<ExecutedStretch> {
    return drive(engine.execute(stretch, withLayers(...layers), NEVER), developmentGround().state)
  }

  async function inTwoStretches(): Promise<[ExecutedStretch, ExecutedStretch]> {
    const raw = transactions.map(sign)
    const first = await execute(stretchOf(raw.slice(0, 2)))
    const second = await execute(stretchOf(raw.slice(2), first.receipts), first.layer)
    return [first, second]
  }

  it('gives the receipts that the same calls have in a simulated block', async () => {
    const calls = transactions.map(({ type: _, nonce, gasLimit, ...rest }) => ({
      from: SENDER,
      gas: `0x${gasLimit.toString(16)}`,
      nonce: `0x${nonce.toString(16)}`,
      ...('to' in rest && { to: rest.to }),
      ...('value' in rest && { value: `0x${rest.value.toString(16)}` }),
      ...('data' in rest && { input: rest.data }),
      ...('gasPrice' in rest && { gasPrice: `0x${rest.gasPrice.toString(16)}` }),
      ...('maxFeePerGas' in rest && {
        maxFeePerGas: `0x${rest.maxFeePerGas.toString(16)}`,
        maxPriorityFeePerGas: `0x${rest.maxPriorityFeePerGas.toString(16)}`,
      }),
      ...('accessList' in rest && { accessList: rest.accessList }),
    }))
    const plan = planOf({ validation: true, blockStateCalls: [{ blockOverrides: { baseFeePerGas: '0x7' }, calls }] })
    // A simulated call with a gas price is legacy, whatever else it has: only the type of the last receipt differs.
    plan.blocks[0]!.calls[3]!.type = 1
    const { blocks } = await simulated(engine, plan, { at: withLayers() })
    const [first, second] = await inTwoStretches()
    const { receiptsRoot, logsBloom, gasUsed } = blocks[0]!
    expect({
      receiptsRoot: second.receiptsRoot,
      logsBloom: second.logsBloom,
      gasUsed: toQuantity(second.gasUsed),
    }).toEqual({
      receiptsRoot,
      logsBloom,
      gasUsed,
    })
    const receipts = [...first.receipts, ...second.receipts]
    expect(receipts.map((receipt) => toQuantity(receipt.gasUsed))).toEqual(blocks[0]!.calls.map((call) => call.gasUsed))
    expect(receipts.map((receipt) => receipt.effectiveGasPrice)).toEqual([900n, 10n, 10n, 900n])
    expect(receipts.map((receipt) => receipt.contractAddress !== null)).toEqual([false, false, true, false])
    expect([...first.transactions, ...second.transactions].map(({ from, nonce }) => ({ from, nonce }))).toEqual(
      transactions.map(({ nonce }) => ({ from: SENDER, nonce })),
    )
  })

  it('leaves layers that hold all that changed', async () => {
    const [first, second] = await inTwoStretches()
    const on = withLayers(first.layer, second.layer)
    const { blocks } = await simulated(engine, callPlan({ from: RICH, to: COUNTER }), { at: on })
    expect(BigInt(blocks[0]!.calls[0]!.returnData)).toBe(8n)
    expect(second.layer.accounts.get(SENDER)).toMatchObject({ nonce: 4n })
    expect(second.layer.accounts.get(second.receipts[0]!.contractAddress!)).toMatchObject({ nonce: 1n, code: '0x00' })
    expect(first.layer.accounts.has(RICH)).toBe(false)
  })

  it('refuses what its block does not allow, by its place', async () => {
    const good = sign(transactions[0])
    const bad: [Hex, string][] = [
      [sign({ ...transactions[1], nonce: 5n }), 'nonce too high'],
      [sign({ ...transactions[1], maxFeePerGas: 6n }), 'max fee per gas less than block base fee'],
      [sign({ ...transactions[1], gasLimit: 16_777_217n }), 'EIP-7825'],
      [sign({ ...transactions[1], value: 10n ** 18n }), 'insufficient funds'],
      ['0x02', ''],
      [sign({ ...transactions[1] }).replace(/.{4}$/, '0000') as Hex, ''],
    ]
    for (const [raw, words] of bad) {
      const failed = execute(stretchOf([good, raw]))
      await expect(failed).rejects.toBeInstanceOf(StretchRejected)
      await expect(failed).rejects.toMatchObject({ transaction: 1, message: expect.stringContaining(words) })
    }
  })

  it('warms the state that transactions need, in whatever order they come', async () => {
    const source = developmentGround().state
    const raw = [transactions[3], transactions[1]].map(sign)
    const at = { ...withLayers(), key: `0x${'33'.repeat(32)}` } as const
    await Promise.all(raw.map((transaction) => drive(engine.warm(transaction, stretchOf(raw), at, NEVER), source)))
    expect(source.reads).toContainEqual({ kind: 'storage', address: COUNTER, slot: `0x${'0'.repeat(64)}` })
    expect(engine.missing(at.key, source.reads)).toEqual([])
  })

  it('does not mind a transaction that can not be warmed', async () => {
    const warmed = engine.warm('0x02', stretchOf(['0x02']), withLayers(), NEVER)
    await expect(drive(warmed, developmentGround().state)).resolves.toBeUndefined()
  })
})

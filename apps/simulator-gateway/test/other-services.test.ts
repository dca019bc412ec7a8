import { FlashbotsBundleProvider } from '@flashbots/ethers-provider-bundle'
import { startDevnet } from '@upfront/devnet'
import { JsonRpcProvider, Wallet } from 'ethers'
import { concat, encodeErrorResult, encodeFunctionData, erc20Abi, type Hex, keccak256, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import { type GenesisUpstream, startGenesisUpstream } from './genesis-upstream.js'

// The methods of other services, held against what these publish: which fields there are, and what stands in them.

const OWNER = '0xa000000000000000000000000000000000000000'
const FRIEND = '0xf000000000000000000000000000000000000001'
const TOKEN = '0x7000000000000000000000000000000000000001'
const FAILS = '0x7000000000000000000000000000000000000003'
const OUTER = '0x7000000000000000000000000000000000000004'
const MAKER = '0x7000000000000000000000000000000000000005'
const TRANSFER = 0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3efn
const chainId = 7357
const word = (value: bigint | string): Hex => `0x${BigInt(value).toString(16).padStart(64, '0')}`

const honest = assemble(`CALLDATASIZE 4 EQ >decimals JUMPI CALLDATASIZE 36 EQ >balanceOf JUMPI
  36 CALLDATALOAD 0 MSTORE 36 CALLDATALOAD CALLER SLOAD SUB CALLER SSTORE
  36 CALLDATALOAD 4 CALLDATALOAD SLOAD ADD 4 CALLDATALOAD SSTORE 4 CALLDATALOAD CALLER ${TRANSFER} 32 0 LOG3
  1 0 MSTORE 32 0 RETURN
  @balanceOf 4 CALLDATALOAD SLOAD 0 MSTORE 32 0 RETURN @decimals 6 0 MSTORE 32 0 RETURN`)
const insufficient = encodeErrorResult({
  abi: parseAbi(['error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)']),
  args: [OWNER, 0n, 25n],
})
const failing = `0x61${((insufficient.length - 2) / 2).toString(16).padStart(4, '0')}80600c6000396000fd${insufficient.slice(2)}`
/** Calls the identity precompile, then the friend with a wei, then the contract that fails. */
const outer = assemble(
  `0 0 0 0 4 GAS STATICCALL POP 0 0 0 0 1 ${BigInt(FRIEND)} GAS CALL POP 0 0 0 0 0 ${BigInt(FAILS)} GAS CALL POP STOP`,
)
const STATE = {
  [OWNER]: { balance: '0xde0b6b3a7640000' },
  [TOKEN]: { code: honest, stateDiff: { [word(OWNER)]: word(1_000_000n) } },
  [FAILS]: { code: failing },
  [OUTER]: { code: outer, balance: '0x5' },
  [MAKER]: { code: assemble('0 0 0 CREATE POP STOP') },
}
const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [FRIEND, 250_000n] })
const transfer = { from: OWNER, to: TOKEN, data }

let upstream: GenesisUpstream
let gateway: GatewayProcess

beforeAll(async () => {
  // The chain itself holds what requests without overrides need.
  upstream = await startGenesisUpstream()
  gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: upstream.url, DIALECT: 'upfront' })
})

afterAll(async () => {
  await gateway?.stop()
  upstream?.close()
})

// biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
async function ask(method: string, ...params: unknown[]): Promise<any> {
  const { result, error } = await gateway.call(method, params)
  expect(error).toBeUndefined()
  return result
}

async function refusal(method: string, ...params: unknown[]) {
  return (await gateway.call(method, params)).error
}

describe('tenderly_simulateTransaction', () => {
  const FIELDS =
    'status gasUsed cumulativeGasUsed blockNumber type logsBloom logs trace assetChanges balanceChanges stateChanges'

  it('shows decoded logs and calls, assets, balances and state', async () => {
    const result = await ask(
      'tenderly_simulateTransaction',
      { ...transfer, gas: '0x0', gasPrice: '0x0' },
      'latest',
      STATE,
    )
    expect(Object.keys(result)).toEqual(FIELDS.split(' '))
    expect(result).toMatchObject({ status: true, blockNumber: '0x1', type: '0x0', cumulativeGasUsed: result.gasUsed })
    expect(result.logs).toEqual([
      {
        name: 'Transfer',
        anonymous: false,
        inputs: [
          { name: 'from', type: 'address', value: OWNER },
          { name: 'to', type: 'address', value: FRIEND },
          { name: 'value', type: 'uint256', value: '250000' },
        ],
        raw: { address: TOKEN, topics: [word(TRANSFER), word(OWNER), word(FRIEND)], data: word(250_000n) },
      },
    ])
    expect(result.trace).toMatchObject([
      {
        type: 'CALL',
        method: 'transfer',
        from: OWNER,
        to: TOKEN,
        value: '0x0',
        decodedInput: [
          { name: 'to', type: 'address', value: FRIEND },
          { name: 'value', type: 'uint256', value: '250000' },
        ],
        decodedOutput: null,
        output: word(1n),
        subtraces: 0,
        traceAddress: [],
      },
    ])
    expect(result.assetChanges).toEqual([
      {
        assetInfo: {
          ...{ standard: 'ERC20', type: 'Fungible', contractAddress: TOKEN, symbol: null, name: null, logo: null },
          ...{ decimals: 6, dollarValue: null },
        },
        ...{ type: 'Transfer', from: OWNER, to: FRIEND, rawAmount: '0x3d090', amount: '0.25', dollarValue: null },
      },
    ])
    expect(result.balanceChanges).toEqual([
      { address: OWNER, dollarValue: '', transfers: [0] },
      { address: FRIEND, dollarValue: '', transfers: [0] },
    ])
    const ofToken = result.stateChanges.find(({ address }: { address: string }) => address === TOKEN)
    expect(ofToken.storage).toEqual([
      { slot: word(OWNER), previousValue: word(1_000_000n), newValue: word(750_000n) },
      { slot: word(FRIEND), previousValue: word(0n), newValue: word(250_000n) },
    ])
  })

  it('says why one fails, in words, and which frame failed', async () => {
    const result = await ask('tenderly_simulateTransaction', { from: OWNER, to: OUTER, gas: 500_000 }, 'latest', STATE)
    expect(result.status).toBe(true)
    expect(result.trace.map(({ traceAddress }: { traceAddress: number[] }) => traceAddress)).toEqual([
      [],
      [0],
      [1],
      [2],
    ])
    expect(result.trace[0].subtraces).toBe(3)
    expect(result.trace[3].error).toBe('ERC20InsufficientBalance: holds 0, needs 25')
    const failed = await ask('tenderly_simulateTransaction', { from: OWNER, to: FAILS }, 'latest', STATE)
    expect(failed).toMatchObject({
      status: false,
      errorMessage: 'execution reverted: ERC20InsufficientBalance: holds 0, needs 25',
    })
    expect(failed.assetChanges).toBeUndefined()
  })

  it('a bundle runs one after the other, block overrides count', async () => {
    const results = await ask('tenderly_simulateBundle', [transfer, transfer], 'latest', STATE, {
      number: '0x1',
      coinbase: FRIEND,
    })
    expect(results.map(({ status }: { status: boolean }) => status)).toEqual([true, true])
    expect(BigInt(results[1].cumulativeGasUsed)).toBe(BigInt(results[0].gasUsed) + BigInt(results[1].gasUsed))
    const slot = results[1].stateChanges.find(({ address }: { address: string }) => address === TOKEN).storage[0]
    expect(slot.previousValue).toBe(word(750_000n))
  })

  it('estimates of gas suffice', async () => {
    const estimate = await ask('tenderly_estimateGas', { ...transfer, gas: undefined }, 'latest', STATE)
    expect(Object.keys(estimate)).toEqual(['gas', 'gasUsed'])
    const run = await ask('tenderly_simulateTransaction', { ...transfer, gas: estimate.gas }, 'latest', STATE)
    expect(run).toMatchObject({ status: true, gasUsed: estimate.gasUsed })
    expect(await ask('tenderly_estimateGasBundle', [transfer, transfer], 'latest', STATE)).toHaveLength(2)
    expect(await refusal('tenderly_estimateGas', { from: OWNER, to: FAILS }, 'latest', STATE)).toMatchObject({
      code: -32000,
      message: 'transaction 0: execution reverted: ERC20InsufficientBalance: holds 0, needs 25',
    })
  })

  it.each([
    [[{ ...transfer, gas: 'x' }], 'params[0].gas: expected a hex quantity'],
    [[5], 'params[0]: expected an object, got 5'],
    [[transfer, 'latest', { x: {} }], 'params[2]'],
    [[transfer, 'latest', {}, { time: 'x' }], 'params[3].time'],
    [[transfer, 'latest', {}, {}, 1], 'params: expected at most 4, got 5'],
  ])('%j is refused by name', async (params, problem) => {
    expect(await refusal('tenderly_simulateTransaction', ...params)).toMatchObject({
      code: -32602,
      message: expect.stringContaining(problem),
    })
  })
})

describe('alchemy_simulateAssetChanges', () => {
  // Without overrides: what a contract would change is shown by a creation whose code is the token's.
  const change = 'assetType contractAddress tokenId decimals symbol name logo changeType from to rawAmount amount'
    .split(' ')
    .sort()

  it('lists what moves, as its examples do', async () => {
    const result = await ask('alchemy_simulateAssetChanges', { from: FRIEND, to: OWNER, value: '0x0' })
    expect(result).toEqual({ changes: [], gasUsed: '0x5208', error: null })
    const emit = `0x${['7f', word(5n).slice(2), '600052', '7f', word(FRIEND).slice(2), '7f', word(OWNER).slice(2)].join('')}7f${word(TRANSFER).slice(2)}60206000a300`
    const { changes, error } = await ask('alchemy_simulateAssetChanges', { from: FRIEND, data: emit })
    expect(error).toBeNull()
    expect(Object.keys(changes[0]).sort()).toEqual(change)
    expect(changes[0]).toMatchObject({
      ...{ assetType: 'ERC20', changeType: 'TRANSFER', from: OWNER, to: FRIEND, rawAmount: '5', amount: null },
      ...{ decimals: null, symbol: null, name: null, logo: null, tokenId: null },
    })
  })

  it('a failed one has its error, and nothing changes', async () => {
    const revert = '0x60006000fd'
    const result = await ask('alchemy_simulateAssetChanges', { from: FRIEND, data: revert })
    expect(result).toEqual({
      changes: [],
      gasUsed: null,
      error: { message: expect.stringContaining('execution reverted') },
    })
    expect(
      await ask('alchemy_simulateAssetChangesBundle', [
        { from: FRIEND, to: OWNER },
        { from: FRIEND, data: revert },
      ]),
    ).toMatchObject([{ error: null }, { error: { message: expect.any(String) } }])
  })

  it('executions come flat or nested, decoded', async () => {
    const call = { from: FRIEND, to: OWNER, data }
    for (const params of [[call], [call, 'latest'], ['FLAT', call, 'latest']]) {
      const { calls, logs } = await ask('alchemy_simulateExecution', ...params)
      expect(logs).toEqual([])
      expect(calls).toEqual([
        {
          ...{
            type: 'CALL',
            from: FRIEND,
            to: OWNER,
            value: '0x0',
            gas: expect.any(String),
            gasUsed: expect.any(String),
          },
          ...{ input: data, output: '0x' },
          decoded: {
            authority: 'ERC-20',
            methodName: 'transfer',
            inputs: [
              { name: 'to', type: 'address', value: FRIEND },
              { name: 'value', type: 'uint256', value: '250000' },
            ],
            outputs: null,
          },
        },
      ])
    }
    const nested = await ask(
      'alchemy_simulateExecution',
      'NESTED',
      { from: FRIEND, data: '0x60006000600060006000610404611388f100' },
      'latest',
    )
    expect(nested.calls).toHaveLength(1)
    expect(nested.calls[0].calls).toHaveLength(1)
    expect(await ask('alchemy_simulateExecutionBundle', [call, call])).toHaveLength(2)
    expect(await refusal('alchemy_simulateExecution', 'TREE', call)).toMatchObject({ code: -32602 })
  })
})

describe('eth_callMany and debug_traceCallMany', () => {
  const bundles = [
    { transactions: [transfer, { from: OWNER, to: FAILS }] },
    { transactions: [{ to: TOKEN, data: `0x70a08231${word(FRIEND).slice(2)}` }] },
  ]

  it('runs bundles one after the other', async () => {
    expect(await ask('eth_callMany', bundles, { blockNumber: 'latest', transactionIndex: -1 }, STATE)).toEqual([
      [{ value: word(1n) }, { error: 'execution reverted: ERC20InsufficientBalance: holds 0, needs 25' }],
      [{ value: word(250_000n) }],
    ])
    const asked = [
      {
        transactions: [{ data: assemble('NUMBER 0 MSTORE TIMESTAMP 32 MSTORE 64 0 RETURN') }],
        blockOverride: { blockNumber: '0x5', timestamp: '0x70000000' },
      },
    ]
    expect(await ask('eth_callMany', asked, null)).toEqual([[{ value: word(5n) + word(0x70000000n).slice(2) }]])
  })

  it('traces them as debug_traceCall does', async () => {
    const config = { tracer: 'callTracer', stateOverrides: STATE }
    const traces = await ask('debug_traceCallMany', bundles, { blockNumber: 'latest' }, config)
    expect(traces.map((bundle: unknown[]) => bundle.length)).toEqual([2, 1])
    expect(traces[0][0]).toMatchObject({ type: 'CALL', from: OWNER, to: TOKEN, output: word(1n) })
    expect(traces[0][1]).toMatchObject({ error: 'execution reverted' })
    const [[steps]] = await ask(
      'debug_traceCallMany',
      [{ transactions: [{ to: TOKEN }] }],
      {},
      { enableMemory: true, stateOverrides: STATE },
    )
    expect(Object.keys(steps)).toEqual(['gas', 'failed', 'returnValue', 'structLogs'])
  })

  it.each([
    [[bundles, { transactionIndex: -3 }], 'params[1].transactionIndex: expected a number of transactions, got -3'],
    [[[{ transactions: [{ to: 'x' }] }]], 'params[0][0].transactions[0].to: expected an address'],
    [
      [[{ transactions: [], blockOverride: { difficulty: '0x1' } }]],
      'params[0][0].blockOverride.difficulty: can not be set here',
    ],
    [[[{}]], 'params[0][0].transactions: expected an array'],
  ])('%j is refused by name', async (params, problem) => {
    expect(await refusal('eth_callMany', ...params)).toMatchObject({
      code: -32602,
      message: expect.stringContaining(problem),
    })
  })
})

describe('trace_call and trace_callMany', () => {
  it('shows actions as OpenEthereum wrote them', async () => {
    // PUSH1 0 ×5, PUSH2 0x0404, GAS, CALL: a call of an account without code, from init code.
    const init = '0x60006000600060006000610404 5af100'.replace(' ', '') as Hex
    const result = await ask('trace_call', { from: FRIEND, data: init, gas: '0x186a0' }, ['trace', 'stateDiff'])
    expect(Object.keys(result)).toEqual(['output', 'stateDiff', 'trace', 'vmTrace'])
    expect(result.vmTrace).toBeNull()
    const [made, called] = result.trace
    expect(made).toMatchObject({
      action: { from: FRIEND, value: '0x0', init, creationMethod: 'create' },
      result: { code: '0x', address: expect.stringMatching(/^0x[0-9a-f]{40}$/) },
      ...{ subtraces: 1, traceAddress: [], type: 'create' },
    })
    // Without what the transaction costs before it runs.
    expect(BigInt(made.action.gas)).toBeLessThan(100_000n - 53_000n)
    expect(called).toEqual({
      action: {
        from: made.result.address,
        to: `0x${'0'.repeat(36)}0404`,
        callType: 'call',
        gas: expect.any(String),
        value: '0x0',
        input: '0x',
      },
      result: { gasUsed: '0x0', output: '0x' },
      ...{ subtraces: 0, traceAddress: [0], type: 'call' },
    })
    expect(result.stateDiff[FRIEND].nonce).toEqual({ '+': '0x1' })
    expect(result.stateDiff[made.result.address]).toMatchObject({ nonce: { '+': '0x1' }, balance: { '+': '0x0' } })
  })

  it('calls follow one another, each with the traces it asks for', async () => {
    const pairs = [
      [{ from: FRIEND, data: '0x60006000fd' }, ['trace']],
      [{ from: FRIEND, to: OWNER }, ['stateDiff']],
    ]
    const [reverted, sent] = await ask('trace_callMany', pairs, 'latest')
    expect(reverted).toMatchObject({ stateDiff: null, trace: [{ error: 'Reverted', result: { output: '0x' } }] })
    expect(sent.trace).toEqual([])
    expect(sent.stateDiff[FRIEND].nonce).toEqual({ '*': { from: '0x1', to: '0x2' } })
  })

  it.each([
    ['0xfe', 'Bad instruction'],
    ['0x5f56', 'Bad jump destination'],
    ['0x50', 'Stack underflow'],
    ['0x5b600056', 'Out of gas'],
  ])('%s ends as %s', async (code, error) => {
    const { trace } = await ask('trace_call', { from: FRIEND, data: code, gas: '0x186a0' }, ['trace'])
    expect(trace).toMatchObject([{ error, result: null }])
  })

  it('vmTrace is refused by name', async () => {
    expect(await refusal('trace_call', { to: OWNER }, ['trace', 'vmTrace'])).toMatchObject({
      code: -32602,
      message: expect.stringContaining('params[1][1]: vmTrace is not offered'),
    })
    expect(await refusal('trace_callMany', [[{ to: 'x' }, ['trace']]])).toMatchObject({
      message: expect.stringContaining('params[0][0][0].to: expected an address'),
    })
  })
})

describe('eth_callBundle', () => {
  const account = privateKeyToAccount(`0x${'51'.repeat(32)}`)

  it('who can not pay is refused, with the place', async () => {
    const raw = await account.signTransaction({
      chainId,
      type: 'eip1559',
      nonce: 0,
      gas: 21_000n,
      to: OWNER,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 1n,
    })
    expect(
      await refusal('eth_callBundle', { txs: [raw], blockNumber: '0x1', stateBlockNumber: 'latest' }),
    ).toMatchObject({
      code: -38014,
      message: expect.stringContaining('params[0].txs[0]: '),
    })
  })

  it.each([
    [{ txs: ['0x1234'] }, 'params[0].txs[0]: expected a signed transaction'],
    [{ txs: [{}] }, 'params[0].txs[0]: expected a signed transaction in hex'],
    [{ txs: [], difficulty: 1 }, 'params[0].difficulty: is not offered'],
    [{ txs: ['0x'], blockNumber: 'x' }, 'params[0].blockNumber'],
  ])('%j is refused by name', async (bundle, problem) => {
    expect(await refusal('eth_callBundle', bundle)).toMatchObject({
      code: -32602,
      message: expect.stringContaining(problem),
    })
  })

  it('shows what a bundle pays to the block', async () => {
    const devnet = await startDevnet({ payments: false })
    const onDevnet = await startGatewayProcess({ UPSTREAM_RPC_URL: devnet.rpcUrl })
    try {
      const { buyer } = devnet.accounts
      const sender = privateKeyToAccount(buyer.privateKey)
      const coinbase = `0xc0${'0'.repeat(37)}1` as const
      const head = BigInt(((await onDevnet.call('eth_blockNumber', [])) as { result: Hex }).result)
      const sign = (nonce: number, to: Hex, value: bigint) =>
        sender.signTransaction({
          chainId: 31337,
          type: 'eip1559',
          nonce,
          gas: 50_000n,
          to,
          value,
          maxFeePerGas: 10n ** 11n,
          maxPriorityFeePerGas: 7n,
        })
      const txs = [await sign(0, FRIEND, 1n), await sign(1, coinbase, 1_000_000n)]
      const params = [{ txs, blockNumber: `0x${(head + 1n).toString(16)}`, stateBlockNumber: 'latest', coinbase }]
      const { result, error } = await onDevnet.call('eth_callBundle', params)
      expect(error).toBeUndefined()
      // Flashbots' own client, unmodified, pointed here.
      const provider = new JsonRpcProvider(onDevnet.url)
      const relay = await FlashbotsBundleProvider.create(
        provider as never,
        Wallet.createRandom() as never,
        onDevnet.url,
        31337,
      )
      const simulated = await relay.simulate(txs, Number(head + 1n), 'latest', undefined, coinbase)
      provider.destroy()
      expect(simulated).toMatchObject({ bundleHash: (result as { bundleHash: Hex }).bundleHash, totalGasUsed: 42_000 })
      expect((simulated as { firstRevert?: unknown }).firstRevert).toBeUndefined()
      const tip = 21_000n * 7n
      const shared = { gasUsed: 21_000, gasFees: `${tip}`, fromAddress: sender.address.toLowerCase(), value: '0x' }
      expect(result).toEqual({
        bundleGasPrice: `${(2n * tip + 1_000_000n) / 42_000n}`,
        bundleHash: keccak256(concat(txs.map((raw) => keccak256(raw)))),
        coinbaseDiff: `${2n * tip + 1_000_000n}`,
        ethSentToCoinbase: '1000000',
        gasFees: `${2n * tip}`,
        results: [
          {
            ...shared,
            txHash: keccak256(txs[0]!),
            toAddress: FRIEND,
            gasPrice: '7',
            coinbaseDiff: `${tip}`,
            ethSentToCoinbase: '0',
          },
          {
            ...{
              ...shared,
              txHash: keccak256(txs[1]!),
              toAddress: coinbase,
              gasPrice: `${(tip + 1_000_000n) / 21_000n}`,
            },
            ...{ coinbaseDiff: `${tip + 1_000_000n}`, ethSentToCoinbase: '1000000' },
          },
        ],
        stateBlockNumber: Number(head),
        totalGasUsed: 42_000,
      })
    } finally {
      await onDevnet.stop()
      await devnet.stop()
    }
  })
})

it('each of them is in rpc.discover, with an example', async () => {
  const { methods } = await ask('rpc.discover')
  const byName = new Map(methods.map((method: { name: string; examples?: unknown[] }) => [method.name, method]))
  for (const name of [
    ...[
      'alchemy_simulateAssetChanges',
      'alchemy_simulateAssetChangesBundle',
      'alchemy_simulateExecution',
      'alchemy_simulateExecutionBundle',
    ],
    ...[
      'tenderly_simulateTransaction',
      'tenderly_simulateBundle',
      'tenderly_estimateGas',
      'tenderly_estimateGasBundle',
    ],
    ...['eth_callMany', 'debug_traceCallMany', 'trace_call', 'trace_callMany', 'eth_callBundle'],
  ])
    expect([name, byName.get(name)]).toMatchObject([name, { examples: [{}] }])
})

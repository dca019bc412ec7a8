import { DEVNET_ACCOUNTS } from '@upfront/devnet'
import { type Hex, numberToHex, parseEther } from 'viem'
import { type PreconfirmedStand, send, startStand, until } from './preconfirmed-stand.js'

const [ALICE] = DEVNET_ACCOUNTS as [(typeof DEVNET_ACCOUNTS)[number]]
const VAULTS = ['0x4200000000000000000000000000000000000019', '0x420000000000000000000000000000000000001a'] as const

interface RpcBlock {
  number: Hex
  hash: Hex
  parentHash: Hex
  timestamp: Hex
  gasLimit: Hex
  baseFeePerGas: Hex
  miner: Hex
  mixHash: Hex
  gasUsed: Hex
  transactions: Hex[]
}

describe.each([
  ['Ethereum rules', false],
  ['OP-stack rules', true],
])('pending on a stream with %s', (_, optimism) => {
  let stand: PreconfirmedStand
  let shown = 0
  const recipient = () => numberToHex(0xb0b0_0000 + shown++, { size: 20 })
  beforeAll(async () => {
    stand = await startStand({ optimism })
  })
  afterAll(() => stand.stop())

  /** Sends a transfer right after a block, and waits until `pending` shows it. */
  async function preconfirmed(to: Hex, value: bigint) {
    const before = await stand.node.getBlockNumber()
    await until(async () => (await stand.node.getBlockNumber()) > before)
    const hash = await send(stand, ALICE.privateKey, { to, value, gas: 21_000n })
    await until(async () => (await stand.ask<Hex>('eth_getBalance', [to, 'pending'])).result !== '0x0')
    return hash
  }

  it('debug_traceCall and eth_createAccessList run on the block under construction', async () => {
    const to = recipient()
    await preconfirmed(to, parseEther('1'))
    const call = { from: to, to: ALICE.address, value: '0x1' }
    const trace = await stand.ask<Record<Hex, { balance: Hex }>>('debug_traceCall', [
      call,
      'pending',
      { tracer: 'prestateTracer' },
    ])
    expect(trace.result?.[to]?.balance).toBe(numberToHex(parseEther('1')))
    const list = await stand.ask('eth_createAccessList', [call, 'pending'])
    expect(list.result).toEqual({ accessList: [], gasUsed: '0x5208' })
  })

  it('shows a transfer in every method before its block is sealed, and agrees with the node afterwards', async () => {
    const to = recipient()
    const hash = await preconfirmed(to, parseEther('1'))
    const body = [
      ['eth_getBlockByNumber', ['pending', false]],
      ['eth_getBalance', [to, 'pending']],
      ['eth_getTransactionCount', [ALICE.address, 'pending']],
      ['eth_getBalance', [ALICE.address, 'pending']],
      ['eth_getTransactionReceipt', [hash]],
      ['eth_getTransactionByHash', [hash]],
      ...VAULTS.map((vault) => ['eth_getBalance', [vault, 'pending']]),
      ['eth_blockNumber', []],
    ].map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))
    const answers = (await (await stand.gateway.post(JSON.stringify(body))).json()) as { result: never }[]
    const [block, balance, nonce, left, receipt, transaction, baseFees, l1Fees, head] = answers.map(
      ({ result }) => result,
    ) as unknown as [RpcBlock, Hex, Hex, Hex, Record<string, Hex>, Record<string, Hex>, Hex, Hex, Hex]
    expect(BigInt(block.number)).toBe(BigInt(head) + 1n)
    expect(balance).toBe(numberToHex(parseEther('1')))
    expect(block.transactions).toContain(hash)
    expect(receipt).toMatchObject({ status: '0x1', blockNumber: block.number, blockHash: block.hash })
    expect(transaction).toMatchObject({
      blockNumber: block.number,
      blockHash: block.hash,
      from: ALICE.address.toLowerCase(),
    })

    const blockNumber = BigInt(block.number)
    await until(async () => (await stand.node.getBlockNumber()) >= blockNumber)
    const sealed = await stand.node.getBlock({ blockNumber })
    expect(sealed.transactions).toEqual(block.transactions)
    expect(sealed.gasUsed).toBe(BigInt(block.gasUsed))
    const at = { blockNumber }
    expect(await stand.node.getBalance({ address: ALICE.address, ...at })).toBe(BigInt(left))
    expect(await stand.node.getTransactionCount({ address: ALICE.address, ...at })).toBe(Number(nonce))
    const [baseFeeVault, l1FeeVault] = VAULTS
    expect(await stand.node.getBalance({ address: baseFeeVault, ...at })).toBe(BigInt(baseFees))
    expect(await stand.node.getBalance({ address: l1FeeVault, ...at })).toBe(BigInt(l1Fees))
    expect(BigInt(l1Fees) > 0n).toBe(optimism)
    const sealedReceipt = await stand.node.getTransactionReceipt({ hash })
    expect(sealedReceipt.gasUsed).toBe(BigInt(receipt.gasUsed ?? 0))
    expect(sealedReceipt.effectiveGasPrice).toBe(BigInt(receipt.effectiveGasPrice ?? 0))
    expect(sealedReceipt.transactionIndex).toBe(Number(receipt.transactionIndex))
  })

  it('eth_simulateV1 runs after the transactions of the block under construction, and adds blocks', async () => {
    const to = recipient()
    await preconfirmed(to, parseEther('2'))
    const call = { from: to, to: ALICE.address, value: numberToHex(parseEther('1')) }
    const body = JSON.stringify([
      { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['pending', false] },
      {
        jsonrpc: '2.0',
        id: 2,
        method: 'eth_simulateV1',
        params: [{ blockStateCalls: [{ calls: [call] }, { calls: [call] }], traceTransfers: true }, 'pending'],
      },
      { jsonrpc: '2.0', id: 3, method: 'eth_getBlockByNumber', params: ['latest', false] },
    ])
    const [{ result: pending }, { result: simulated }, { result: latest }] = (await (
      await stand.gateway.post(body)
    ).json()) as [{ result: RpcBlock }, { result: (RpcBlock & { calls: { status: Hex }[] })[] }, { result: RpcBlock }]
    const [first, second] = simulated
    const { number, timestamp, gasLimit, baseFeePerGas, miner, mixHash, parentHash } = pending
    expect(first).toMatchObject({ number, timestamp, gasLimit, baseFeePerGas, miner, mixHash, parentHash })
    expect(first?.parentHash).toBe(latest.hash)
    expect(first?.transactions).toHaveLength(1)
    expect(second?.parentHash).toBe(first?.hash)
    expect(BigInt(second?.number ?? 0)).toBe(BigInt(number) + 1n)
    expect(simulated.flatMap(({ calls }) => calls.map(({ status }) => status))).toEqual(['0x1', '0x1'])
  })

  it('answers at each position in the block under construction, and the same once it is sealed', async () => {
    const to = recipient()
    const hash = await preconfirmed(to, parseEther('1'))
    const { result: pending } = await stand.ask<RpcBlock>('eth_getBlockByNumber', ['pending', false])
    const index = pending?.transactions.indexOf(hash) ?? -1
    if (pending === undefined || index < 0) throw new Error('it was sealed before it was asked for')
    const balances = (blockNumber: string) =>
      Promise.all(
        [index, index + 1].map((transactionIndex) =>
          stand.ask<Hex>('eth_getBalance', [to, { blockNumber, transactionIndex }]),
        ),
      )
    const before = await balances('pending')
    await expect(stand.ask('eth_call', [{ to }, { blockNumber: 'pending', transactionIndex: 100 }])).rejects.toThrow(
      /params\[1\]\.transactionIndex: the block under construction has \d+ transactions?, got 100$/,
    )
    const blockNumber = BigInt(pending.number)
    await until(async () => (await stand.node.getBlockNumber()) >= blockNumber)
    expect(before.map(({ result }) => result)).toEqual(['0x0', numberToHex(parseEther('1'))])
    const sealed = balances(pending.number)
    // The receipts root of anvil's blocks with deposits is not the OP stack's.
    if (optimism)
      await expect(sealed).rejects.toThrow(/executes to a result that differs from its header.*receipts root/)
    else expect((await sealed).map(({ result }) => result)).toEqual(['0x0', numberToHex(parseEther('1'))])
  })

  it('applies overrides on top of pre-confirmed state', async () => {
    const to = recipient()
    await preconfirmed(to, parseEther('1'))
    const { result } = await stand.ask<{ calls: { status: Hex }[] }[]>('eth_simulateV1', [
      {
        blockStateCalls: [
          {
            stateOverrides: { [to]: { balance: numberToHex(parseEther('5')) } },
            calls: [{ from: to, to: ALICE.address, value: numberToHex(parseEther('5')) }],
          },
        ],
      },
      'pending',
    ])
    expect(result[0]?.calls[0]?.status).toBe('0x1')
  })

  it('eth_call and eth_estimateGas run in the block under construction', async () => {
    const to = recipient()
    await preconfirmed(to, parseEther('1'))
    const transfer = { from: to, to: ALICE.address, value: numberToHex(parseEther('1')) }
    expect((await stand.ask('eth_estimateGas', [transfer, 'pending'])).result).toBe('0x5208')
    expect((await stand.ask('eth_call', [transfer, 'pending'])).result).toBe('0x')
    const more = { ...transfer, value: numberToHex(parseEther('2')) }
    await expect(stand.ask('eth_call', [more, 'pending'])).rejects.toThrow('insufficient funds')
    // NUMBER and TIMESTAMP returned by init code.
    const code = '0x4360005242602052604060' + '00f3'
    const pending = await stand.ask<RpcBlock>('eth_getBlockByNumber', ['pending', false])
    const { result, answerState } = await stand.ask<Hex>('eth_call', [{ data: code }, 'pending'])
    if (answerState?.kind === 'preconfirmed' && answerState.block === BigInt(pending.result.number)) {
      expect(BigInt(result.slice(0, 66))).toBe(BigInt(pending.result.number))
      expect(BigInt(`0x${result.slice(66)}`)).toBe(BigInt(pending.result.timestamp))
    }
  })

  it('eth_call accepts any number and time of block overrides', async () => {
    await preconfirmed(recipient(), parseEther('1'))
    // NUMBER, TIMESTAMP and the hash of the block before it, returned by init code.
    const data = '0x43600052426020526001430340604052606060' + '00f3'
    const ask = (blockOverrides: object) => stand.ask<Hex>('eth_call', [{ data }, 'pending', null, blockOverrides])
    const word = (value: number) => numberToHex(value, { size: 32 }).slice(2)
    const far = await ask({ number: '0x5f5e100', time: '0x77359400' })
    expect(far.result).toBe(`0x${word(100_000_000)}${word(2_000_000_000)}${word(0)}`)
    const { result } = await ask({ number: '0x1', time: '0x1' })
    const genesis = await stand.node.getBlock({ blockNumber: 0n })
    expect(result).toBe(`0x${word(1)}${word(1)}${genesis.hash.slice(2)}`)
  })

  it('names the state of an answer, and that of pending on /health/ready', async () => {
    const { answerState } = await stand.ask('eth_getBalance', [ALICE.address, 'pending'])
    expect(answerState).toMatchObject({
      kind: 'preconfirmed',
      block: expect.any(BigInt),
      flashblock: expect.any(Number),
    })
    const simulated = await stand.ask('eth_simulateV1', [{ blockStateCalls: [{}] }, 'latest'])
    expect(simulated.answerState).toMatchObject({ kind: 'latest', block: expect.any(BigInt) })
    const health = (await (await fetch(`${stand.gateway.url}/health/ready`)).json()) as Record<string, unknown>
    expect(health.preconfirmed).toMatchObject({ connected: true, block: expect.any(String) })
    expect(await stand.gateway.metric('upfront_preconfirmed_connected')).toBe(1)
  })
})

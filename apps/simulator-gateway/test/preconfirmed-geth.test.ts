import {
  deployUniswap,
  type FaultProxy,
  findGeth,
  flashblocksOf,
  GETH_DEVELOPER,
  type Geth,
  rpc,
  type StreamServer,
  startFaultProxy,
  startGeth,
  startStreamServer,
  swapRouterAbi,
  TEST_TOKEN_SLOTS,
  type UniswapContracts,
} from '@upfront/devnet'
import {
  createPublicClient,
  createWalletClient,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  numberToHex,
  padHex,
  parseEther,
  stringToHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { until } from './preconfirmed-stand.js'

const path = findGeth()
if (!path) console.log('pre-confirmed state beside geth is skipped: there is no geth in $GETH, PATH or ~/go/bin')
const describeIf = path ? describe : describe.skip

describeIf('pending on a streamed block, compared with the real geth that seals it', () => {
  const developer = privateKeyToAccount(GETH_DEVELOPER.privateKey)
  let geth: Geth
  let node: FaultProxy
  let stream: StreamServer
  let gateway: GatewayProcess
  let uniswap: UniswapContracts
  let sealed: bigint
  const addresses: Hex[] = []

  beforeAll(async () => {
    geth = await startGeth(path as string, { blockTimeSeconds: 1 })
    uniswap = await deployUniswap(geth.rpcUrl, GETH_DEVELOPER.privateKey)
    const client = createPublicClient({ transport: http(geth.rpcUrl), cacheTime: 0 })
    const wallet = createWalletClient({ account: developer, transport: http(geth.rpcUrl) })
    let nonce = await client.getTransactionCount({ address: developer.address })
    const before = await client.getBlockNumber()
    await until(async () => (await client.getBlockNumber()) > before)
    const swap = (functionName: 'swapV2' | 'swapV3', amount: bigint) => {
      const pool = functionName === 'swapV2' ? uniswap.pairV2 : uniswap.poolV3
      return encodeFunctionData({
        abi: swapRouterAbi,
        functionName,
        args: [pool, uniswap.token0, amount, 0n, developer.address],
      })
    }
    const hashes: Hex[] = []
    for (let i = 0; i < 8; i++) {
      const to = numberToHex(0xabc0_0000 + i, { size: 20 })
      addresses.push(to)
      const send = { chain: null, nonce: nonce++ }
      hashes.push(await wallet.sendTransaction({ ...send, to, value: parseEther('0.5'), gas: 21_000n }))
      const data = swap(i % 2 ? 'swapV2' : 'swapV3', parseEther('10'))
      hashes.push(
        await wallet.sendTransaction({ chain: null, nonce: nonce++, to: uniswap.router, data, gas: 400_000n }),
      )
    }
    const receipt = await client.waitForTransactionReceipt({ hash: hashes[0] as Hex, pollingInterval: 50 })
    await client.waitForTransactionReceipt({ hash: hashes.at(-1) as Hex, pollingInterval: 50 })
    sealed = receipt.blockNumber
    node = await startFaultProxy(geth.rpcUrl)
    node.cap = sealed - 1n
    stream = await startStreamServer({ port: 0, encoding: 'brotli' })
    gateway = await startGateway({ UPSTREAM_RPC_URL: node.url, FLASHBLOCKS_WS_URL: stream.url })
    await until(async () => (await gateway.metric('upfront_preconfirmed_connected')) === 1)
    for (const message of await flashblocksOf(geth.rpcUrl, sealed)) stream.send(JSON.stringify(message))
    const { transactions } = await rpc<{ transactions: Hex[] }>(geth.rpcUrl, 'eth_getBlockByNumber', [at(), false])
    expect(transactions.length).toBeGreaterThan(4)
    await until(async () => {
      const pending = await gateway.call<{ transactions: Hex[] }>('eth_getBlockByNumber', ['pending', false])
      return pending.result?.transactions.length === transactions.length
    })
  }, 90_000)
  afterAll(async () => {
    await gateway?.stop()
    await stream?.stop()
    await node?.stop()
    await geth?.stop()
  })

  const at = () => numberToHex(sealed)
  async function agree(method: string, params: (block: string) => unknown[]) {
    const { result, error } = await gateway.call(method, params('pending'))
    expect(error).toBeUndefined()
    expect(result).toEqual(await rpc(geth.rpcUrl, method, params(at())))
  }

  it('agrees on balances and nonces', async () => {
    for (const address of [...addresses, developer.address]) await agree('eth_getBalance', (block) => [address, block])
    await agree('eth_getTransactionCount', (block) => [developer.address, block])
    const { result } = await gateway.call('eth_getBalance', [developer.address, 'latest'])
    expect(result).not.toEqual(await rpc(geth.rpcUrl, 'eth_getBalance', [developer.address, at()]))
  })

  it('agrees on code and storage', async () => {
    await agree('eth_getCode', (block) => [uniswap.poolV3, block])
    const pools = [uniswap.poolV3, uniswap.pairV2].flatMap((pool) =>
      Array.from({ length: 16 }, (_, slot) => [pool, numberToHex(slot)]),
    )
    const holders = [developer.address, uniswap.poolV3, uniswap.pairV2].map((holder) => [
      uniswap.token0,
      keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [holder, TEST_TOKEN_SLOTS.balanceOf])),
    ])
    for (const [address, slot] of [...pools, ...holders])
      await agree('eth_getStorageAt', (block) => [address, slot, block])
  })

  it('agrees on the result and gas of a swap', async () => {
    for (const functionName of ['swapV2', 'swapV3'] as const) {
      const pool = functionName === 'swapV2' ? uniswap.pairV2 : uniswap.poolV3
      const args = [pool, uniswap.token1, parseEther('25'), 0n, developer.address] as const
      const data = encodeFunctionData({ abi: swapRouterAbi, functionName, args })
      const call = { from: developer.address, to: uniswap.router, data, gas: '0x7a120' }
      await agree('eth_call', (block) => [call, block])
      const simulate = (block: string) => [{ blockStateCalls: [{ calls: [call] }], traceTransfers: true }, block]
      type Block = { calls: { status: Hex; returnData: Hex; logs: { address: Hex; data: Hex; topics: Hex[] }[] }[] }
      const ours = (await gateway.call<Block[]>('eth_simulateV1', simulate('pending'))).result?.[0]?.calls[0]
      const theirs = (await rpc<Block[]>(geth.rpcUrl, 'eth_simulateV1', simulate(at())))[0]?.calls[0]
      const told = (logs: Block['calls'][0]['logs'] = []) =>
        logs.map(({ address, data, topics }) => [address, data, topics])
      expect(ours?.status).toBe('0x1')
      expect(ours?.returnData).toBe(theirs?.returnData)
      expect(told(ours?.logs)).toEqual(told(theirs?.logs))
    }
  })

  it('agrees on the roots of the block, its transactions by index and its logs', async () => {
    type Block = { hash: Hex; transactionsRoot: Hex; receiptsRoot: Hex; logsBloom: Hex; transactions: Hex[] }
    const { result: ours } = await gateway.call<Block>('eth_getBlockByNumber', ['pending', false])
    const theirs = await rpc<Block>(geth.rpcUrl, 'eth_getBlockByNumber', [at(), false])
    const { transactionsRoot, receiptsRoot, logsBloom, transactions } = theirs
    expect(ours).toMatchObject({ transactionsRoot, receiptsRoot, logsBloom, transactions })
    const hash = ours?.hash as Hex
    const count = numberToHex(transactions.length)
    await agree('eth_getBlockTransactionCountByNumber', (block) => [block])
    expect(await gateway.call('eth_getBlockTransactionCountByHash', [hash])).toMatchObject({ result: count })
    expect(await gateway.call('eth_getBlockByHash', [hash, false])).toMatchObject({ result: ours })
    for (const index of ['0x0', '0x3', count]) {
      const sealedOne = await rpc<object | null>(geth.rpcUrl, 'eth_getTransactionByBlockNumberAndIndex', [at(), index])
      const byNumber = await gateway.call('eth_getTransactionByBlockNumberAndIndex', ['pending', index])
      const byHash = await gateway.call('eth_getTransactionByBlockHashAndIndex', [hash, index])
      expect(byHash).toEqual(byNumber)
      if (sealedOne === null) expect(byNumber.result).toBeNull()
      else expect(byNumber.result).toMatchObject({ ...sealedOne, blockHash: hash })
    }
    const transfer = keccak256(stringToHex('Transfer(address,address,uint256)'))
    for (const filter of [
      {},
      { address: uniswap.token0 },
      { address: [uniswap.token0, uniswap.poolV3], topics: [[transfer, null]] },
      { topics: [transfer, null, [padHex(developer.address)]] },
      { topics: [transfer, padHex('0x99')] },
      { topics: [null, null, null, null] },
    ]) {
      const range = { fromBlock: at(), toBlock: at() }
      const logs = await rpc<object[]>(geth.rpcUrl, 'eth_getLogs', [{ ...filter, ...range }])
      const pending = await gateway.call('eth_getLogs', [{ ...filter, fromBlock: 'pending', toBlock: 'pending' }])
      expect(pending.result).toEqual(logs.map((log) => ({ ...log, blockHash: hash })))
      expect(await gateway.call('eth_getLogs', [{ ...filter, fromBlock: at(), toBlock: 'pending' }])).toEqual(pending)
      expect(await gateway.call('eth_getLogs', [{ ...filter, blockHash: hash }])).toEqual(pending)
    }
  })

  it('eth_getLogs joins logs of sealed blocks and of the block under construction', async () => {
    const { result: pending } = await gateway.call<object[]>('eth_getLogs', [
      { fromBlock: 'pending', toBlock: 'pending' },
    ])
    const below = await rpc<object[]>(geth.rpcUrl, 'eth_getLogs', [
      { fromBlock: '0x0', toBlock: numberToHex(sealed - 1n) },
    ])
    expect(below.length).toBeGreaterThan(0)
    const { result } = await gateway.call('eth_getLogs', [{ fromBlock: '0x0', toBlock: 'pending' }])
    expect(result).toEqual([...below, ...(pending ?? [])])
    expect((await gateway.call('eth_getLogs', [{ fromBlock: 'pending' }])).error).toEqual({
      code: -32602,
      message: 'invalid block range params',
    })
  })

  it('eth_getProof proves the newest sealed state', async () => {
    const { result, error } = await gateway.call<object>('eth_getProof', [developer.address, [], 'pending'])
    expect(error).toBeUndefined()
    expect(result).toEqual(
      await rpc<object>(geth.rpcUrl, 'eth_getProof', [developer.address, [], numberToHex(sealed - 1n)]),
    )
  })

  it('agrees on the traces of its transactions', async () => {
    for (const tracer of [{ tracer: 'callTracer', tracerConfig: { withLog: true } }, { tracer: 'prestateTracer' }])
      await agree('debug_traceBlockByNumber', (block) => [block, tracer])
  })

  it('agrees on receipts and transactions, also once the node has the block', async () => {
    const { result: block } = await gateway.call<{ transactions: Hex[] }>('eth_getBlockByNumber', ['pending', false])
    const known = block?.transactions ?? []
    const ours = await Promise.all(
      known.map(async (hash) => [
        (await gateway.call<object>('eth_getTransactionReceipt', [hash])).result,
        (await gateway.call<object>('eth_getTransactionByHash', [hash])).result,
      ]),
    )
    for (const [i, hash] of known.entries()) {
      expect(ours[i]?.[0]).toMatchObject(await rpc<object>(geth.rpcUrl, 'eth_getTransactionReceipt', [hash]))
      expect(ours[i]?.[1]).toMatchObject(await rpc<object>(geth.rpcUrl, 'eth_getTransactionByHash', [hash]))
    }
    node.cap = sealed
    await until(async () => (await gateway.metric('upfront_preconfirmed_events_total{event="folded"}')) === 1)
    for (const address of addresses) await agree('eth_getBalance', (where) => [address, where])
  })
})

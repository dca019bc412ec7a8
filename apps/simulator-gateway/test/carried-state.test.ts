import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BuiltGeth,
  DEVNET_ACCOUNTS,
  deployUniswap,
  type FaultProxy,
  findGeth,
  GETH_DEVELOPER,
  type SocketProxy,
  startBuiltGeth,
  startFaultProxy,
  startSocketProxy,
  swapRouterAbi,
  testTokenAbi,
  type UniswapContracts,
} from '@upfront/devnet'
import { type Address, encodeFunctionData, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { answerStateFromHeader } from '../src/pending/answer-state.js'
import { type GatewayProcess, startGateway, startGatewayProcess } from './gateway-process.js'

const payer = privateKeyToAccount(GETH_DEVELOPER.privateKey)
const bob = DEVNET_ACCOUNTS[1]!.address
/** Returns the balance of the account that the input names. */
const BALANCE_OF = '0x00000000000000000000000000000000000ba1a0'
const CODE = '0x6000353160005260206000f3'
/** One more than the number of blocks that are fetched after a gap. */
const MORE_THAN_ARE_FETCHED = 10

const NEVER_MS = 3_600_000
const STATE_READS = ['eth_getBalance', 'eth_getStorageAt', 'eth_getCode', 'eth_getTransactionCount', 'eth_getProof']

// While anvil mines, it sometimes answers reads with the state of the block before, so these tests need geth.
const path = findGeth()
if (path === undefined) console.warn('carried state is not tried: there is no geth in PATH, ~/go/bin or $GETH')
const describeWithGeth = path === undefined ? describe.skip : describe

describeWithGeth('state carried from block to block', () => {
  let geth: BuiltGeth
  let node: FaultProxy
  let heads: SocketProxy
  let gateway: GatewayProcess
  let nonce = 0

  beforeAll(async () => {
    geth = await startBuiltGeth(path!)
    node = await startFaultProxy(geth.rpcUrl)
    heads = await startSocketProxy(geth.wsUrl)
    // geth serves no `web3_` methods here, like many providers: it is not a development node.
    const following = { UPSTREAM_RPC_URL: node.url, UPSTREAM_WS_URL: heads.url }
    gateway = await startGatewayProcess(following, { carryAuditMs: 1_000 })
  })
  afterAll(async () => {
    await gateway?.stop()
    await heads?.stop()
    await node?.stop()
    await geth?.stop()
  })

  let over = false
  beforeEach(() => {
    over = false
  })
  afterEach(() => {
    over = true
  })
  async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
    while (!over && !(await condition())) await sleep(60)
  }

  /** Bob's balance from the gateway, with the state that it was read from. */
  async function balance(of = gateway) {
    const calls = [{ to: BALANCE_OF, input: `0x${bob.slice(2).padStart(64, '0')}` }]
    const params = [{ blockStateCalls: [{ stateOverrides: { [BALANCE_OF]: { code: CODE } }, calls }] }, 'latest']
    const response = await of.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params }))
    const { result } = (await response.json()) as { result: { calls: { returnData: string }[] }[] }
    const state = answerStateFromHeader(response.headers.get('upfront-state') ?? '')
    if (state.kind !== 'latest') throw new Error('it stands on pre-confirmed state')
    return { ...state, value: BigInt(result[0]?.calls[0]?.returnData ?? 0) }
  }

  async function send(to: Address, data?: Hex): Promise<void> {
    const what = data === undefined ? { value: 1_000n, gas: 21_000n } : { data, gas: 500_000n }
    const raw = await payer.signTransaction({
      ...{ chainId: 1_337, nonce: nonce++, to, ...what },
      ...{ type: 'legacy', gasPrice: 100_000_000_000n },
    })
    await geth.rpc('eth_sendRawTransaction', [raw])
  }
  /** Mines a block that pays Bob. */
  async function paid(): Promise<bigint> {
    await send(bob)
    return built()
  }
  async function deployed(): Promise<UniswapContracts> {
    let isDone = false
    const deploying = deployUniswap(geth.rpcUrl, GETH_DEVELOPER.privateKey).finally(() => {
      isDone = true
    })
    while (!isDone && !over) {
      await built()
      await sleep(20)
    }
    const contracts = await deploying
    nonce = Number(await geth.rpc<Hex>('eth_getTransactionCount', [payer.address, 'latest']))
    return contracts
  }
  async function built(): Promise<bigint> {
    const hash = await geth.build({ feeRecipient: `0x${'fe'.repeat(20)}`, withdrawals: [] })
    const { number } = await geth.rpc<{ number: string }>('eth_getBlockByHash', [hash, false])
    return BigInt(number)
  }
  const atNode = async (block: bigint) =>
    BigInt(await geth.rpc<string>('eth_getBalance', [bob, `0x${block.toString(16)}`]))
  const stateReads = (of = node) => STATE_READS.reduce((sum, method) => sum + (of.stats.byMethod[method] ?? 0), 0)
  const following = async (of = gateway) => {
    const { following } = (await (await fetch(`${of.url}/health/ready`)).json()) as {
      following: { carrying: object; recent: { block: string; carried?: boolean; transactions?: number }[] }
    }
    return following
  }

  /** Pays Bob until an answer uses carried state of the newest block. `reads`: reads through `through` for that answer. */
  async function untilCarried(of = gateway, through = node): Promise<{ block: bigint; value: bigint; reads: number }> {
    while (!over) {
      const head = await paid()
      for (let tries = 0; tries < 20; tries++) {
        const before = stateReads(through)
        const { block, isCarried, value } = await balance(of)
        if (isCarried && block === head) return { block, value, reads: stateReads(through) - before }
        await sleep(20)
      }
    }
    throw new Error('the test is over')
  }
  async function expectCarried(): Promise<void> {
    const { block, value } = await untilCarried()
    expect(value).toBe(await atNode(block))
  }
  const audits = (outcome: string) => gateway.metric(`upfront_carry_audits_total{outcome="${outcome}"}`)

  it('FOLLOW_HEAD=always: carries state from the second block on without any request', async () => {
    const urls = { UPSTREAM_RPC_URL: geth.rpcUrl, UPSTREAM_WS_URL: geth.wsUrl }
    const unasked = await startGateway({ ...urls, FOLLOW_HEAD: 'always' })
    const blocks = (outcome: string) => unasked.metric(`upfront_carry_blocks_total{outcome="${outcome}"}`)
    try {
      await until(async () => (await unasked.metric('upfront_head_trusted')) === 1)
      await until(async () => {
        await paid()
        return (await blocks('carried')) > 0
      })
      expect(await blocks('orphan')).toBe(1)
    } finally {
      await unasked.stop()
    }
  })

  it('equals the state of the node and is read from it by audits only', async () => {
    // Without audits, because a test can't see whether one is in progress.
    const own = await startFaultProxy(geth.rpcUrl)
    const urls = { UPSTREAM_RPC_URL: own.url, UPSTREAM_WS_URL: geth.wsUrl }
    const unaudited = await startGatewayProcess(urls, { carryAuditMs: NEVER_MS })
    try {
      for (let round = 0; round < 10; round++) {
        const { block, value, reads } = await untilCarried(unaudited, own)
        expect(value).toBe(await atNode(block))
        if (round >= 5) expect(reads).toBe(0)
      }
      expect(await unaudited.metric('upfront_carry_blocks_total{outcome="carried"}')).toBeGreaterThanOrEqual(6)
      expect(await unaudited.metric('upfront_carry_pace')).toBe(1)
      const { carrying, recent } = await following(unaudited)
      expect(carrying).toMatchObject({ pace: 'each' })
      expect(recent.at(-1)).toMatchObject({ carried: true })
      // A busy geth seals a block without the transaction and includes it in the next.
      expect(recent.some(({ carried, transactions }) => carried && transactions === 1)).toBe(true)
    } finally {
      await unaudited.stop()
      await own.stop()
    }
  })

  it('restarts after a gap of more blocks than it fetches, and is correct again', async () => {
    const { block } = await untilCarried()
    const orphans = async () => (await gateway.metric('upfront_carry_blocks_total{outcome="orphan"}')) || 0
    const before = await orphans()
    node.cap = block
    heads.muted = true
    for (let n = 0; n < MORE_THAN_ARE_FETCHED; n++) await paid()
    node.cap = undefined
    heads.muted = false
    const head = await paid()
    await until(async () => (await balance()).block === head)
    expect((await balance()).value).toBe(await atNode(head))
    expect(await orphans()).toBe(before + 1)
    await expectCarried()
  })

  it('is dropped if the node contradicts a value, and nothing is carried after that', async () => {
    await untilCarried()
    await until(async () => (await audits('confirmed')) > 0)
    const { block } = await untilCarried()
    const wrong = `0x${((await atNode(block)) + 1n).toString(16)}`
    node.lies = ({ method, params }) =>
      method === 'eth_getBalance' && String(params?.[0]).toLowerCase() === bob.toLowerCase() ? wrong : undefined
    await until(async () => {
      if ((await audits('contradicted')) > 0) return true
      await paid()
      await sleep(200)
      return false
    })
    node.lies = undefined
    expect(await audits('contradicted')).toBe(1)
    expect(await gateway.metric('upfront_carry_pace')).toBe(-1)
    const { carrying, recent } = await following()
    expect(carrying).toMatchObject({ pace: 'distrusted' })
    expect(recent.some(({ carried }) => carried)).toBe(false)
    expect(gateway.output()).toContain('the node contradicts carried state')

    const head = await paid()
    await until(async () => (await balance()).block === head)
    const { isCarried, value } = await balance()
    expect([isCarried, value]).toEqual([undefined, await atNode(head)])
    await until(async () => (await gateway.metric('upfront_carry_blocks_total{outcome="paused"}')) > 0)
  })

  it('reads at most a third as much for the second block as for the first', async () => {
    const uniswap = await deployed()
    const { router, poolV3, pairV2, token0, token1 } = uniswap
    const swap = (functionName: 'swapV2' | 'swapV3', pool: Address, token: Address) => {
      const args = [pool, token, 10n ** 15n, 0n, payer.address] as const
      return { to: router, data: encodeFunctionData({ abi: swapRouterAbi, functionName, args }) }
    }
    const transfer = (token: Address) => ({
      to: token,
      data: encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args: [bob, 1n] }),
    })
    const traffic = [swap('swapV3', poolV3, token0), swap('swapV2', pairV2, token1), transfer(token0)]
    const next = [swap('swapV2', pairV2, token0), swap('swapV3', poolV3, token1), transfer(token1)]
    // The other gateway reads too, so this one has a proxy of its own.
    const own = await startFaultProxy(geth.rpcUrl)
    const urls = { UPSTREAM_RPC_URL: own.url, UPSTREAM_WS_URL: geth.wsUrl }
    // Audits would read too.
    const settings = { ...urls, FOLLOW_HEAD: 'always', HINTS: 'off' }
    const fresh = await startGatewayProcess(settings, { carryAuditMs: NEVER_MS })
    /** Reads from the node to carry a block of these transactions. */
    const carrying = async (transactions: typeof traffic) => {
      own.reset()
      for (const { to, data } of transactions) await send(to, data)
      const number = await built()
      await until(async () =>
        (await following(fresh)).recent.some((head) => head.block === String(number) && head.carried),
      )
      const requests = own.stats.methods.filter((methods) => methods.some((method) => STATE_READS.includes(method)))
      return { requests: requests.length, values: stateReads(own) }
    }
    try {
      await until(async () => (await fresh.metric('upfront_head_trusted')) === 1)
      const number = await paid()
      await until(async () => (await following(fresh)).recent.some((head) => head.block === String(number)))
      const [first, second] = [await carrying(traffic), await carrying(next)]
      expect(second.requests).toBeLessThan(first.requests)
      expect(3 * second.values).toBeLessThanOrEqual(first.values)
    } finally {
      await fresh.stop()
      await own.stop()
    }
  })
})

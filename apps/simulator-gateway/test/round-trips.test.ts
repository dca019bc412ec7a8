import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Anvil,
  DEVNET_ACCOUNTS,
  DEVNET_ROLES,
  deployUniswap,
  type FaultProxy,
  readArtifact,
  rpc,
  startAnvil,
  startFaultProxy,
  swapRouterAbi,
  TEST_TOKEN_SLOTS,
  testTokenAbi,
  type UniswapContracts,
} from '@upfront/devnet'
import {
  type Address,
  createPublicClient,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  numberToHex,
  pad,
  parseAbi,
} from 'viem'
import { type GatewayProcess, startGateway, type Variables } from './gateway-process.js'
import { type BlockResult, callOf } from './simulate-params.js'

const factoryAbi = parseAbi([
  'function createPair(address tokenA, address tokenB) returns (address pair)',
  'function getPair(address tokenA, address tokenB) view returns (address pair)',
  'function mint(address to) returns (uint256 liquidity)',
])
/** The node's latency: long enough to tell requests in one batch from requests in turn. */
const LATENCY_MS = 20
/** Methods that only find the head. */
const HEAD_METHODS = new Set(['eth_getBlockByHash', 'eth_getBlockByNumber', 'eth_blockNumber'])

const trader = DEVNET_ROLES.deployer.address
const [other, another] = DEVNET_ACCOUNTS.map(({ address }) => address)

interface Call {
  from: Address
  to: Address
  input?: Hex
  value?: Hex
}

let anvil: Anvil
let uniswap: UniswapContracts

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0', '--order', 'fifo'])
  uniswap = await deployUniswap(anvil.rpcUrl, DEVNET_ROLES.deployer.privateKey)
}, 120_000)
afterAll(async () => {
  await anvil?.stop()
})

function swapV3(from: Address, amount: bigint): Call {
  const { poolV3, token0, router } = uniswap
  const args = [poolV3, token0, amount, 0n, from] as const
  return { from, to: router, input: encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV3', args }) }
}

function swapV2(from: Address, pair = uniswap.pairV2, tokenIn = uniswap.token1): Call {
  const { router } = uniswap
  const args = [pair, tokenIn, 10n ** 18n, 0n, from] as const
  return { from, to: router, input: encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV2', args }) }
}

function token(to: Address, functionName: 'transfer' | 'approve'): Call {
  const data = encodeFunctionData({ abi: testTokenAbi, functionName, args: [other!, 1n] })
  return { from: trader, to, input: data }
}

/** Sends a transaction from an account of anvil. */
async function send(call: { from: Address; to?: Address; input: Hex }): Promise<Address | null> {
  const hash = await rpc<Hex>(anvil.rpcUrl, 'eth_sendTransaction', [{ ...call, gas: '0x989680' }])
  const client = createPublicClient({ transport: http(anvil.rpcUrl) })
  const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 20 })
  expect(receipt.status).toBe('success')
  return receipt.contractAddress ?? null
}

/** Gives the account tokens and approves the router. */
async function fund(account: Address, token: Address): Promise<void> {
  const mint = encodeFunctionData({ abi: testTokenAbi, functionName: 'mint', args: [account, 10n ** 24n] })
  const approve = encodeFunctionData({ abi: testTokenAbi, functionName: 'approve', args: [uniswap.router, 2n ** 255n] })
  await send({ from: trader, to: token, input: mint })
  await send({ from: account, to: token, input: approve })
}

/** Deploys another pair of the same factory, with two tokens of its own. */
async function anotherPair(): Promise<{ pair: Address; tokenIn: Address }> {
  const { abi, bytecode } = readArtifact('TestToken')
  const make = (name: string) => send({ from: trader, input: encodeDeployData({ abi, bytecode, args: [name, name] }) })
  const tokens = [(await make('One'))!, (await make('Other'))!] as const
  const created = encodeFunctionData({ abi: factoryAbi, functionName: 'createPair', args: tokens })
  await send({ from: trader, to: uniswap.factoryV2, input: created })
  const asked = encodeFunctionData({ abi: factoryAbi, functionName: 'getPair', args: tokens })
  const word = await rpc<Hex>(anvil.rpcUrl, 'eth_call', [{ to: uniswap.factoryV2, input: asked }, 'latest'])
  const pair: Address = `0x${word.slice(-40)}`
  for (const address of tokens) {
    await fund(trader, address)
    const args = [pair, 10n ** 21n] as const
    await send({
      from: trader,
      to: address,
      input: encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args }),
    })
  }
  await send({
    from: trader,
    to: pair,
    input: encodeFunctionData({ abi: factoryAbi, functionName: 'mint', args: [trader] }),
  })
  return { pair, tokenIn: tokens[1] }
}

/** A swap by a new sender with tokens and an allowance. */
function swapByStranger(sender: Address) {
  const mapped = (key: Address, slot: Hex) =>
    keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'bytes32' }], [key, slot]))
  const slot = (number: bigint) => numberToHex(number, { size: 32 })
  const plenty = numberToHex(2n ** 128n, { size: 32 })
  const stateDiff = {
    [mapped(sender, slot(TEST_TOKEN_SLOTS.balanceOf))]: plenty,
    [mapped(uniswap.router, mapped(sender, slot(TEST_TOKEN_SLOTS.allowance)))]: plenty,
  }
  const stateOverrides = { [uniswap.token0]: { stateDiff }, [sender]: { balance: '0xde0b6b3a7640000' } }
  return [{ stateOverrides, calls: [swapV3(sender, 10n ** 18n)] }]
}

function mixed(count: number): Call[] {
  const { token0, token1 } = uniswap
  const kinds = [
    (): Call => ({ from: trader, to: other!, value: '0x1' }),
    () => token(token0, 'transfer'),
    (index: number) => swapV3(trader, 10n ** 18n + BigInt(index)),
    () => swapV2(trader),
    () => token(token1, 'approve'),
  ]
  return Array.from({ length: count }, (_, index) => kinds[index % kinds.length]!(index))
}

/** Overrides of 1,000 accounts that do not exist on the chain. */
function unseenOverrides() {
  const accounts = Array.from({ length: 1_000 }, (_, n) => [
    pad(numberToHex((0xabcn << 100n) + BigInt(n)), { size: 20 }),
  ])
  const stateOverrides = Object.fromEntries(accounts.map(([address]) => [address, { balance: '0x1' }]))
  return [{ stateOverrides, calls: [{ from: trader, to: other, value: '0x1' }] }]
}

/** Maximum round trips. Each worker has its own cache, so the portable build takes two more for many calls. */
const ENGINES = [
  { engine: 'auto', firstSwap: 2, newSender: 1, newPair: 2, calls: 100, mixedCalls: 6 },
  { engine: 'portable', firstSwap: 2, newSender: 1, newPair: 3, calls: 100, mixedCalls: 8 },
]

describe.each(ENGINES)('round trips to the node with a followed head, on engine $engine', (most) => {
  const { engine } = most
  let node: FaultProxy
  let gateway: GatewayProcess

  beforeEach(async () => {
    node = await startFaultProxy(anvil.rpcUrl)
    node.latencyMs = LATENCY_MS
  }, 120_000)
  afterEach(async () => {
    await gateway?.stop()
    await node?.stop()
  })

  async function start(environment: Variables = { CARRY_STATE: 'on' }): Promise<void> {
    const following = { UPSTREAM_WS_URL: anvil.wsUrl, FOLLOW_HEAD: 'always', LIMITS: { timeoutMs: 60_000 } }
    gateway = await startGateway({
      UPSTREAM_RPC_URL: node.url,
      EVM_ENGINE: engine,
      ...following,
      ...environment,
    })
    // Once this needs no more requests, the gateway's start-up is over and the head is followed.
    do {
      node.reset()
      await gateway.call('eth_simulateV1', callOf('0x00'))
      await sleep(5 * LATENCY_MS)
    } while (node.stats.requests > 0)
  }

  /** Number of HTTP requests that read state for the simulation. */
  async function tripsOf(blockStateCalls: readonly object[]): Promise<number> {
    node.reset()
    const { result, error } = await gateway.call<BlockResult[]>('eth_simulateV1', [{ blockStateCalls }, 'latest'])
    expect(error).toBeUndefined()
    for (const { calls } of result ?? []) for (const { status } of calls) expect(status).toBe('0x1')
    return node.stats.methods.filter((methods) => methods.some((method) => !HEAD_METHODS.has(method))).length
  }

  /** Hints asked of the node: those of the last simulation, and all that `/metrics` counts. */
  const hints = () => node.stats.byMethod.debug_traceCall ?? 0
  const countedHints = () =>
    gateway.metric(`upfront_upstream_calls_total{upstream="${node.host}",method="debug_traceCall",outcome="ok"}`)

  /** Mines a block and waits until it is the gateway's head. */
  async function nextHead(): Promise<void> {
    await rpc(anvil.rpcUrl, 'evm_mine', [])
    const head = Number(await rpc<string>(anvil.rpcUrl, 'eth_blockNumber', []))
    while ((await gateway.metric('upfront_head_block')) < head) await sleep(20)
  }

  it('are few for a first swap, one or two for a new sender in the pool, none for known state', async () => {
    await start()
    expect(await tripsOf([{ calls: [swapV3(trader, 10n ** 18n)] }])).toBeLessThanOrEqual(most.firstSwap)
    expect([hints(), await countedHints()]).toEqual([1, 1])
    expect(await tripsOf([{ calls: [swapV3(trader, 10n ** 18n)] }])).toBe(0)
    expect(await tripsOf(swapByStranger(pad('0x5713a17e', { size: 20 })))).toBeLessThanOrEqual(most.newSender)
    expect(await tripsOf(unseenOverrides())).toBeLessThanOrEqual(1)
    expect(await countedHints()).toBe(1)
  }, 120_000)

  it(`are at most the number of dependent reads for ${most.calls} mixed calls`, async () => {
    await start()
    expect(await tripsOf([{ calls: mixed(most.calls) }])).toBeLessThanOrEqual(most.mixedCalls)
  }, 120_000)

  it('are none on a new head with carried state', async () => {
    await start()
    await tripsOf([{ calls: mixed(20) }])
    await nextHead()
    while (!((await gateway.metric('upfront_carry_blocks_total{outcome="carried"}')) > 0)) await sleep(20)
    expect(await tripsOf([{ calls: mixed(20) }])).toBe(0)
  }, 120_000)

  it('are at most two on a new head after a swap, without carried state and hints (HINTS=off)', async () => {
    await start({ CARRY_STATE: 'off', HINTS: 'off' })
    await tripsOf([{ calls: [swapV3(trader, 10n ** 18n)] }])
    expect([hints(), await countedHints()]).toEqual([0, Number.NaN])
    await rpc(anvil.rpcUrl, 'eth_sendTransaction', [{ ...swapV3(trader, 10n ** 15n), gas: '0x61a80' }])
    await nextHead()
    expect(await tripsOf([{ calls: [swapV3(trader, 10n ** 18n)] }])).toBeLessThanOrEqual(2)
    const health = (await (await fetch(`${gateway.url}/health/ready`)).json()) as { following: object }
    expect(health.following).toMatchObject({ carrying: { not: 'CARRY_STATE=off' } })
  }, 120_000)

  it('are fewer than 40 for a loop over slots until it is refused', async () => {
    await start()
    // PUSH0, JUMPDEST DUP1 SLOAD POP PUSH1 1 ADD PUSH1 1 JUMP
    const stateOverrides = { [another!]: { code: '0x5f5b8054506001016001560000' } }
    node.reset()
    const params = [{ blockStateCalls: [{ stateOverrides, calls: [{ to: another }] }] }, 'latest']
    const { error } = await gateway.call('eth_simulateV1', params)
    expect(error?.message).toBe('the request reads more than 5000 values of state that are not cached')
    expect(node.stats.requests).toBeLessThan(40)
  }, 120_000)

  it('are few for another sender and another pair of the factory, without hints and carried state', async () => {
    const { pair, tokenIn } = await anotherPair()
    await fund(another!, uniswap.token1)
    await start({ CARRY_STATE: 'off', HINTS: 'off' })
    await tripsOf([{ calls: [swapV2(trader)] }])
    await nextHead()
    expect(await tripsOf([{ calls: [swapV2(another!)] }])).toBeLessThanOrEqual(most.newSender)
    expect(await tripsOf([{ calls: [swapV2(trader, pair, tokenIn)] }])).toBeLessThanOrEqual(most.newPair)
    expect(hints()).toBe(0)
  }, 120_000)
})

import {
  DEVNET_ACCOUNTS,
  type Devnet,
  type FaultProxy,
  type FlashblockMessage,
  flashblocksOf,
  rpc,
  type StreamServer,
  startDevnet,
  startFaultProxy,
  startStreamServer,
} from '@upfront/devnet'
import { createWalletClient, type Hex, http, numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { until } from './preconfirmed-stand.js'

const [ALICE] = DEVNET_ACCOUNTS as [(typeof DEVNET_ACCOUNTS)[number]]
const BOB = numberToHex(0xb0b, { size: 20 })
const START = 5n

/** Blocks 1 to 12 hold four transfers of 1 wei each: after block n, Bob has 4n. The tests send the stream. */
describe('pending with a node behind the stream, ahead of it, slow, or on another fork', () => {
  let devnet: Devnet
  let node: FaultProxy
  let stream: StreamServer
  let gateway: GatewayProcess
  const blocks = new Map<bigint, FlashblockMessage[]>()

  beforeAll(async () => {
    devnet = await startDevnet({ payments: false, anvilArgs: ['--order', 'fifo', '--no-mining'] })
    let nonce = 0
    for (let number = 1n; number <= 12n; number++) {
      for (let i = 0; i < 4; i++) await transfer(nonce++)
      await rpc(devnet.rpcUrl, 'evm_mine', [])
      blocks.set(number, await flashblocksOf(devnet.rpcUrl, number, { perFlashblock: 1 }))
    }
    node = await startFaultProxy(devnet.rpcUrl)
  })
  beforeEach(async () => {
    node.cap = START
    node.latencyMs = 0
    stream = await startStreamServer({ port: 0, encoding: 'json' })
    gateway = await startGateway({
      UPSTREAM_RPC_URL: node.url,
      FLASHBLOCKS_WS_URL: stream.url,
      FLASHBLOCKS_SILENCE_MS: '60000',
    })
    await until(async () => (await gateway.metric('upfront_preconfirmed_connected')) === 1)
  })
  afterEach(async () => {
    await gateway.stop()
    await stream.stop()
  })
  afterAll(async () => {
    await node.stop()
    await devnet.stop()
  })

  function transfer(nonce: number, to: Hex = BOB): Promise<Hex> {
    const account = privateKeyToAccount(ALICE.privateKey)
    const wallet = createWalletClient({ account, chain: foundry, transport: http(devnet.rpcUrl) })
    return wallet.sendTransaction({ to, value: 1n, gas: 21_000n, nonce, maxFeePerGas: 10n ** 11n })
  }
  const send = (number: bigint, indices?: number[]) => {
    for (const message of blocks.get(number) ?? [])
      if (indices === undefined || indices.includes(message.index)) stream.send(JSON.stringify(message))
  }
  const bobHas = async () => {
    const response = await gateway.post(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [BOB, 'pending'] }),
    )
    const answerState = response.headers.get('upfront-state')?.split(';')[0]
    return `${Number(((await response.json()) as { result: Hex }).result)} ${answerState ?? 'latest'}`
  }
  const shows = (wanted: string) => until(async () => (await bobHas()) === wanted)
  const counted = (event: string) => gateway.metric(`upfront_preconfirmed_events_total{event="${event}"}`)

  it('stacks blocks that the node does not have yet, and folds them one by one', async () => {
    for (const number of [6n, 7n, 8n]) send(number)
    await shows('32 preconfirmed')
    for (const [cap, folded] of [
      [6n, 1],
      [7n, 2],
    ] as const) {
      node.cap = cap
      await until(async () => (await counted('folded')) === folded)
      expect(await bobHas()).toBe('32 preconfirmed')
    }
    node.cap = 8n
    await shows('32 latest')
  })

  it('waits for the parent if the stream begins at a later block', async () => {
    send(8n)
    send(7n)
    expect(await bobHas()).toBe('20 latest')
    node.cap = 6n
    await shows('32 preconfirmed')
  })

  it('is the head once it has overtaken the stream, and ignores late flashblocks', async () => {
    send(6n, [0, 1, 2])
    await shows('22 preconfirmed')
    node.cap = 8n
    await shows('32 latest')
    send(6n, [3, 4])
    send(7n)
    expect(await bobHas()).toBe('32 latest')
    send(9n, [0, 1])
    await shows('33 preconfirmed')
  })

  it('executes later blocks again if a sealed block holds more than was pre-confirmed', async () => {
    send(6n, [0, 1, 2])
    await shows('22 preconfirmed')
    send(7n)
    node.cap = 6n
    await shows('28 preconfirmed')
  })

  it('shows the pre-confirmed block again after the head has gone back', async () => {
    send(6n)
    await shows('24 preconfirmed')
    node.cap = 6n
    await shows('24 latest')
    node.cap = 5n
    await shows('24 preconfirmed')
    expect(await counted('reorganised')).toBe(1)
  })

  it('shows the newest flashblock of those that came while the node was slow', async () => {
    node.latencyMs = 300
    for (const index of [0, 1, 2, 3, 4]) {
      send(6n, [index])
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await shows('24 preconfirmed')
    expect(await counted('visible')).toBeLessThan(5)
  })

  it('drops blocks on another fork and never mixes the two', async () => {
    send(6n, [0, 1])
    await shows('21 preconfirmed')
    await rpc(devnet.rpcUrl, 'anvil_rollback', [8])
    await rpc(devnet.rpcUrl, 'evm_mine', [])
    await shows('16 latest')
    send(6n)
    expect(await bobHas()).toBe('16 latest')
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, DEVNET_ACCOUNTS, type FaultProxy, rpc, startAnvil, startFaultProxy } from '@upfront/devnet'
import { answerStateFromHeader } from '../src/pending/answer-state.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

const [alice, bob] = DEVNET_ACCOUNTS.map(({ address }) => address)
/** Returns the balance of the account that the input names. */
const BALANCE_OF = '0x00000000000000000000000000000000000ba1a0'
const CODE = '0x6000353160005260206000f3'

// anvil answers a read with the state of the block before now and then while it mines (bench/RESULTS.md): another chain gets another try.
// Against geth, which does not, carrying is tested in engine-revm.
;(import.meta as ImportMeta & { jest: typeof jest }).jest.retryTimes(2, { logErrorsBeforeRetry: true })

let anvil: Anvil
let node: FaultProxy
let gateway: GatewayProcess

beforeEach(async () => {
  anvil = await startAnvil(['--port', '0'])
  node = await startFaultProxy(anvil.rpcUrl)
  gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: node.url, UPSTREAM_WS_URL: anvil.wsUrl, CARRY_STATE: 'on' })
})
afterEach(async () => {
  await gateway?.stop()
  await node?.stop()
  await anvil?.stop()
})

let over = false
beforeEach(() => {
  over = false
})
afterEach(() => {
  over = true
})

/** What the gateway says of Bob's balance, and on what. */
async function balance() {
  const calls = [{ from: alice, to: BALANCE_OF, input: `0x${bob?.slice(2).padStart(64, '0')}` }]
  const params = [{ blockStateCalls: [{ stateOverrides: { [BALANCE_OF]: { code: CODE } }, calls }] }, 'latest']
  const response = await gateway.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params }))
  const { result } = (await response.json()) as { result: { calls: { returnData: string }[] }[] }
  const state = answerStateFromHeader(response.headers.get('upfront-state') ?? '')
  return { state, value: BigInt(result[0]?.calls[0]?.returnData ?? 0) }
}
const pay = (value: bigint) =>
  rpc(anvil.rpcUrl, 'eth_sendTransaction', [{ from: alice, to: bob, value: `0x${value.toString(16)}` }])
const headOf = async () => BigInt(await rpc<string>(anvil.rpcUrl, 'eth_blockNumber', []))
const atNode = async (block: bigint) =>
  BigInt(await rpc<string>(anvil.rpcUrl, 'eth_getBalance', [bob, `0x${block.toString(16)}`]))
const stateReads = () =>
  ['eth_getBalance', 'eth_getStorageAt', 'eth_getCode', 'eth_getTransactionCount', 'eth_getProof'].reduce(
    (sum, method) => sum + (node.stats.byMethod[method] ?? 0),
    0,
  )

async function expectCarried(): Promise<void> {
  const { block, value } = await untilCarried()
  expect(value).toBe(await atNode(block))
}

/** Pays Bob until an answer stands on carried state of the newest block. */
async function untilCarried(): Promise<{ block: bigint; value: bigint }> {
  for (; !over; ) {
    await pay(1_000n)
    const head = await headOf()
    for (let tries = 0; tries < 20; tries++) {
      const { state, value } = await balance()
      if (state.kind === 'latest' && state.isCarried && state.block >= head) return { block: state.block, value }
      await sleep(20)
    }
  }
  throw new Error('the test is over')
}

describe('state that is carried from block to block', () => {
  it('is what the node has, and is not read again', async () => {
    for (let round = 0; round < 5; round++) await expectCarried()
    node.reset()
    for (let round = 0; round < 3; round++) await expectCarried()
    expect(stateReads()).toBe(0)
    expect(await gateway.metric('upfront_carry_blocks_total{outcome="carried"}')).toBeGreaterThanOrEqual(8)
    expect(await gateway.metric('upfront_carry_pace')).toBe(1)
    const { following } = (await (await fetch(`${gateway.url}/health/ready`)).json()) as {
      following: { carrying: object; recent: object[] }
    }
    expect(following.carrying).toMatchObject({ pace: 'each' })
    expect(following.recent.at(-1)).toMatchObject({ carried: true, transactions: 1 })
  })

  it('begins anew after more blocks than are fetched, and is right again', async () => {
    await untilCarried()
    await rpc(anvil.rpcUrl, 'anvil_mine', ['0x20'])
    const head = await headOf()
    // So many blocks at once are beyond what is fetched: their state is read from the node again.
    while (!over) {
      const { state, value } = await balance()
      if (state.block === head) {
        expect(value).toBe(await atNode(head))
        break
      }
      await sleep(20)
    }
    await expectCarried()
  })
})

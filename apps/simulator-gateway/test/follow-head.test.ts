import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Anvil,
  type FaultProxy,
  rpc,
  type SocketProxy,
  startAnvil,
  startFaultProxy,
  startSocketProxy,
} from '@upfront/devnet'
import WebSocket from 'ws'
import { answerStateFromHeader } from '../src/pending/answer-state.js'
import { type GatewayProcess, startGateway, startGatewayProcess } from './gateway-process.js'
import { connect } from './web-socket-client.js'

let anvil: Anvil
let node: FaultProxy
let heads: SocketProxy
let gateway: GatewayProcess

beforeEach(async () => {
  anvil = await startAnvil(['--port', '0'])
  node = await startFaultProxy(anvil.rpcUrl)
  heads = await startSocketProxy(anvil.wsUrl)
})
afterEach(async () => {
  await gateway?.stop()
  await heads?.stop()
  await node?.stop()
  await anvil?.stop()
})

const follow = async (environment: Record<string, string> = {}, fixed?: { followIdleMs: number }) => {
  const urls = { UPSTREAM_RPC_URL: node.url, UPSTREAM_WS_URL: heads.url }
  const settings = { ...urls, ...environment }
  // Fixed settings apply to all gateways of a process.
  gateway = await (fixed === undefined ? startGateway(settings) : startGatewayProcess(settings, fixed))
}
const mine = () => rpc(anvil.rpcUrl, 'evm_mine', [])
const headOf = async () => Number(await rpc<string>(anvil.rpcUrl, 'eth_blockNumber', []))
const asked = () => (node.stats.byMethod.eth_getBlockByNumber ?? 0) + (node.stats.byMethod.eth_blockNumber ?? 0)

/** Simulates a transfer. @returns the state that the answer used, and the number of the simulated block */
async function simulate(block: unknown = 'latest', headers: Record<string, string> = {}) {
  const calls = [{ from: `0x${'a1'.repeat(20)}`, to: `0x${'b2'.repeat(20)}` }]
  const params = [{ blockStateCalls: [{ calls }] }, block]
  const response = await gateway.post(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params }),
    headers,
  )
  const { result } = (await response.json()) as { result: { number: string; parentHash: string }[] }
  const state = answerStateFromHeader(response.headers.get('upfront-state') ?? '')
  if (state.kind !== 'latest') throw new Error('it stands on pre-confirmed state')
  expect(Number(result[0]?.number)).toBe(Number(state.block) + 1)
  return { ...state, block: Number(state.block), parentHash: result[0]?.parentHash }
}

interface Following {
  mode: string
  following: boolean
  subscribed: number
  urls: number
  head?: string
  trusted: boolean
}
const following = async () => {
  const { following } = (await (await fetch(`${gateway.url}/health/ready`)).json()) as { following: Following }
  return following
}

let over = false
beforeEach(() => {
  over = false
})
afterEach(() => {
  over = true
})
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!over && !(await condition())) await sleep(20)
}
/** Mines until answers use a followed head without asking the node. */
async function untilFollowed(): Promise<number> {
  await until(async () => (await following()).subscribed === 1)
  for (; !over; await sleep(20)) {
    await mine()
    const head = await headOf()
    for (let tries = 0; tries < 20; tries++) {
      const { block, ageMs } = await simulate()
      if (ageMs !== undefined && block === head) return head
    }
  }
  throw new Error('the test is over')
}

describe('following the head over a subscription', () => {
  it('answers on the followed head and cached state without any request to the node', async () => {
    await follow()
    // Whether the head is trusted depends on time, which passes differently on a loaded machine: one quiet round is enough.
    for (let quiet = false; !quiet && !over; ) {
      const head = await untilFollowed()
      node.reset()
      const answers = [await simulate(), await simulate(), await simulate()]
      const number = await gateway.call('eth_blockNumber')
      quiet = node.stats.requests === 0
      if (quiet) {
        expect(answers.map(({ block }) => block)).toEqual([head, head, head])
        expect(answers.every(({ ageMs }) => ageMs !== undefined)).toBe(true)
        expect(Number(number.result)).toBe(head)
      }
    }
    expect(await gateway.metric('upfront_head_following')).toBe(1)
    expect(await gateway.metric('upfront_head_subscriptions')).toBe(1)
    expect(await gateway.metric('upfront_head_events_total{event="head"}')).toBeGreaterThan(1)
  })

  it('health shows a followed head at once, although it asks the node once a second', async () => {
    await follow()
    await untilFollowed()
    for (let round = 0; round < 3; round += 1) {
      await following()
      await mine()
      const head = await headOf()
      await until(async () => {
        const { block, ageMs } = await simulate()
        return ageMs !== undefined && block === head
      })
      expect(Number((await following()).head)).toBe(head)
    }
  })

  it('switches to another branch with the node', async () => {
    await follow()
    await untilFollowed()
    const snapshot = await rpc<string>(anvil.rpcUrl, 'evm_snapshot', [])
    for (let n = 0; n < 3; n++) await mine()
    const abandoned = await headOf()
    await until(async () => (await simulate()).block === abandoned)
    await rpc(anvil.rpcUrl, 'evm_revert', [snapshot])
    await rpc(anvil.rpcUrl, 'evm_increaseTime', [1_000])
    while ((await headOf()) <= abandoned) await mine()
    const { hash } = await rpc<{ hash: string }>(anvil.rpcUrl, 'eth_getBlockByNumber', ['latest', false])
    await until(async () => (await simulate()).parentHash === hash)
    expect((await simulate()).parentHash).toBe(hash)
  })

  it('polls the node while the subscription is silent, and stops once it sends again', async () => {
    await follow()
    await untilFollowed()
    heads.muted = true
    await mine()
    const head = await headOf()
    await until(async () => (await simulate()).block === head)
    for (let n = 1; n <= 5; n++) {
      await mine()
      expect((await simulate()).block).toBe(head + n)
    }
    expect((await following()).subscribed).toBe(1)
    heads.muted = false
    await untilFollowed()
  })

  it('polls the node if the subscription lags behind', async () => {
    await follow()
    await untilFollowed()
    heads.latencyMs = 2_000
    await mine()
    const head = await headOf()
    await until(async () => (await simulate()).block === head)
    await mine()
    expect((await simulate()).block).toBe(head + 1)
  })

  it('upfront-min-state: fresh asks the node for its head, even if the head is followed', async () => {
    await follow()
    await untilFollowed()
    heads.latencyMs = 2_000
    for (let n = 0; n < 5; n++) {
      await mine()
      const head = await headOf()
      expect((await simulate('latest', { 'upfront-min-state': 'fresh' })).block).toBe(head)
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' })
      const response = await gateway.post(body, { 'upfront-min-state': 'fresh' })
      expect(Number(((await response.json()) as { result: string }).result)).toBe(head)
      expect(response.headers.get('upfront-state')).toMatch(new RegExp(`^latest; block=${head}`))
    }
    const fresh = await connect(`${gateway.url}/?upfront-min-state=fresh`)
    await mine()
    expect(Number((await fresh.call('eth_blockNumber')).result)).toBe(await headOf())
    fresh.socket.close()
    const wrong = new WebSocket(`${gateway.url.replace('http', 'ws')}/?upfront-min-state=newest`)
    const [{ message }] = (await once(wrong, 'error')) as [Error]
    expect(message).toBe('Unexpected server response: 400')
    wrong.terminate()
    const passed = await gateway.post(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [`0x${'a1'.repeat(20)}`, '0x1'] }),
    )
    expect(passed.headers.get('upfront-state')).toBe('node')
  })

  it('serves a block that it was not notified of, by number and by hash', async () => {
    await follow()
    await untilFollowed()
    heads.muted = true
    await mine()
    await mine()
    const { hash, number } = await rpc<{ hash: string; number: string }>(anvil.rpcUrl, 'eth_getBlockByNumber', [
      'latest',
      false,
    ])
    expect((await simulate(number)).parentHash).toBe(hash)
    expect((await simulate({ blockHash: hash })).parentHash).toBe(hash)
  })

  it('polls the node while the connection is lost, and reconnects', async () => {
    await follow()
    await untilFollowed()
    heads.disconnect()
    await until(async () => (await gateway.metric('upfront_head_events_total{event="lost"}')) >= 1)
    await mine()
    const head = await headOf()
    await until(async () => (await simulate()).block === head)
    await untilFollowed()
  })

  it('shows no key of a URL in logs, health or metrics', async () => {
    await follow({ UPSTREAM_WS_URL: `${heads.url}/v2/0123456789abcdef?token=fedcba9876543210`, LOG_LEVEL: 'trace' })
    await untilFollowed()
    heads.disconnect()
    await until(async () => (await gateway.metric('upfront_head_events_total{event="lost"}')) >= 1)
    const shown = [
      gateway.output(),
      JSON.stringify(await following()),
      await (await fetch(`${gateway.url}/metrics`)).text(),
    ]
    for (const text of shown) expect(text).not.toMatch(/0123456789abcdef|fedcba9876543210/)
  })
})

describe('FOLLOW_HEAD', () => {
  it('auto: stops following without requests, and the next request asks the node', async () => {
    await follow({}, { followIdleMs: 4_000 })
    await until(async () => !(await following()).following)
    node.reset()
    await mine()
    await sleep(200)
    expect(node.stats.requests).toBe(0)
    expect(heads.announced).toBe(0)
    const head = await headOf()
    expect(await simulate()).toMatchObject({ block: head })
    expect(asked()).toBeGreaterThan(0)
    await untilFollowed()
  })

  it('off: asks the node on each request', async () => {
    await follow({ FOLLOW_HEAD: 'off' })
    for (let n = 0; n < 5; n++) {
      await mine()
      const head = await headOf()
      const before = asked()
      const { block, ageMs } = await simulate()
      expect([block, ageMs]).toEqual([head, undefined])
      expect(asked()).toBeGreaterThan(before)
    }
    expect(await following()).toMatchObject({ mode: 'off', following: false, subscribed: 0, trusted: false })
  })

  it('always: follows without any request', async () => {
    await follow({ FOLLOW_HEAD: 'always' }, { followIdleMs: 1_000 })
    await until(async () => (await following()).subscribed === 1)
    await sleep(1_500)
    await mine()
    const head = await headOf()
    await until(async () => Number((await following()).head) === head)
  })
})

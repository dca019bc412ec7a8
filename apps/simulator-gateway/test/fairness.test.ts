import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGatewayProcess, type Variables } from './gateway-process.js'
import { HOSTILE_PROGRAMS } from './programs.js'
import { type BlockResult, callOf } from './simulate-params.js'

const ENDLESS = callOf(assemble(HOSTILE_PROGRAMS['endless loop']))
const SLOTS = callOf(assemble(HOSTILE_PROGRAMS['cold slots']))
const TRANSFER = [{ blockStateCalls: [{ calls: [{ to: `0x${'ab'.repeat(20)}` }] }] }, 'latest']

let anvil: Anvil
const gateways: GatewayProcess[] = []

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
})
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()))
  await anvil?.stop()
})

/** Distinguishes its clients by `x-forwarded-for`. */
async function start(environment: Variables): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess({
    UPSTREAM_RPC_URL: anvil.rpcUrl,
    TRUSTED_PROXIES: '127.0.0.1',
    ...environment,
    LIMITS: { callsPerSecond: 1_000, ...(environment.LIMITS as object) },
  })
  gateways.push(gateway)
  return gateway
}

const simulate = (gateway: GatewayProcess, client: string, params: unknown) =>
  gateway.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params }), {
    'x-forwarded-for': client,
  })

describe('a client that uses all it can get', () => {
  it('leaves slots and queue places to others: 4 of its 10 requests get 503 (inFlight 4, queued 4)', async () => {
    const gateway = await start({
      LIMITS: { gas: 1_000_000_000_000, inFlight: 4, queued: 4, timeoutMs: 60_000 },
    })
    const [payload] = ENDLESS as [{ blockStateCalls: Record<string, unknown>[] }]
    const endless = [
      { blockStateCalls: [{ ...payload.blockStateCalls[0], blockOverrides: { gasLimit: '0xffffffffff' } }] },
      'latest',
    ]
    const gone = new AbortController()
    const greedy = Array.from({ length: 10 }, async () => {
      const response = await fetch(gateway.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '198.51.100.1' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: endless }),
        signal: gone.signal,
      })
      return response.status
    })
    // Two of four slots, four queued, the rest refused.
    let refused = 0
    for (const answer of greedy)
      void answer.then((status) => (refused += status === 503 ? 1 : 0)).catch(() => undefined)
    while (refused < 4) await sleep(20)
    await waited(gateway)
    expect(refused).toBe(4)
    expect(await gateway.metric('upfront_requests_in_flight')).toBe(2)
    for (const client of ['198.51.100.2', '198.51.100.3', '198.51.100.2'])
      expect((await simulate(gateway, client, TRANSFER)).status).toBe(200)
    expect((await simulate(gateway, '198.51.100.1', TRANSFER)).status).toBe(503)
    gone.abort()
    await Promise.allSettled(greedy)
    await gateway.inFlight(0)
  })
})

it('a client without a request in flight is served immediately, even if others fill all slots', async () => {
  const gateway = await start({ LIMITS: { gas: 1_000_000_000_000, inFlight: 2, queued: 8, timeoutMs: 60_000 } })
  const [payload] = ENDLESS as [{ blockStateCalls: Record<string, unknown>[] }]
  const endless = [
    { blockStateCalls: [{ ...payload.blockStateCalls[0], blockOverrides: { gasLimit: '0xffffffffff' } }] },
    'latest',
  ]
  const greedy = [1, 2, 3, 4, 5].map((client) => simulate(gateway, `198.51.100.${client}`, endless))
  await gateway.inFlight(5)
  let ended = 0
  for (const one of greedy) void one.then(() => (ended += 1)).catch(() => undefined)
  for (const client of ['203.0.113.1', '203.0.113.2'])
    expect((await simulate(gateway, client, TRANSFER)).status).toBe(200)
  expect(ended).toBe(0)
  await gateway.stop()
  await Promise.allSettled(greedy)
})

/** Resolves once the queue is full. */
async function waited(gateway: GatewayProcess): Promise<undefined> {
  while ((await gateway.metric('upfront_requests_waiting')) !== 4) await sleep(20)
  await sleep(200)
}

describe('per-minute budget', () => {
  it.each([
    ['gas', { LIMITS: { gasPerMinute: 200_000, gas: 100_000 } }, ENDLESS, '200000 gas in a minute'],
    ['bytes', { LIMITS: { bytesPerMinute: 3_000 } }, TRANSFER, '3000 bytes of requests and answers in a minute'],
    ['reads', { LIMITS: { readsPerMinute: 50, reads: 100_000 } }, SLOTS, '50 values read from the node'],
  ])(
    '%s: answers 429 with the limit and a retry time once it is used up; other clients are served',
    async (_, environment, params, message) => {
      const gateway = await start(environment as Variables)
      let response = await simulate(gateway, '198.51.100.1', params)
      expect(response.status).toBe(200)
      for (let asked = 1; response.status === 200 && asked < 20; asked += 1)
        response = await simulate(gateway, '198.51.100.1', params)
      expect(response.status).toBe(429)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(1)
      expect(await response.json()).toMatchObject({
        error: { code: -32005, message: expect.stringMatching(new RegExp(`${message}.*again in \\d+ s`)) },
      })
      const other = await simulate(gateway, '198.51.100.2', TRANSFER)
      expect(((await other.json()) as { result: BlockResult[] }).result).toHaveLength(1)
    },
  )

  it('counts a call that exceeded a limit with all gas that it may have used', async () => {
    const gateway = await start({
      LIMITS: { gasPerMinute: 2_000_000_000_000, gas: 1_000_000_000_000, reads: 50 },
    })
    const statuses: number[] = []
    for (let asked = 0; asked < 3; asked += 1) statuses.push((await simulate(gateway, '198.51.100.1', SLOTS)).status)
    expect(statuses).toEqual([200, 200, 429])
  })
})

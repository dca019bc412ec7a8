import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Anvil, type FaultProxy, startAnvil, startFaultProxy } from '@upfront/devnet'
import { type GatewayProcess, startGateway } from './gateway-process.js'

let anvil: Anvil
let upstream: FaultProxy
let gateway: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  upstream = await startFaultProxy(anvil.rpcUrl)
})
afterEach(() => gateway?.stop())
afterAll(async () => {
  await upstream?.stop()
  await anvil?.stop()
})

const ready = async (path = '/health/ready') => {
  const response = await fetch(gateway.url + path)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('health', () => {
  it('is ready on a fresh head, and shows engine, chain and upstreams', async () => {
    gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url, EVM_ENGINE: 'portable' })
    expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200)
    expect(await ready()).toEqual({
      status: 200,
      body: {
        ready: true,
        upstreams: [{ upstream: upstream.host, circuit: 'closed' }],
        engine: { name: 'portable', version: expect.any(String), reason: expect.any(String) },
        chain: { id: '31337', rules: expect.any(String), head: '0', headAgeSeconds: expect.any(Number) },
        following: expect.objectContaining({ mode: 'auto', following: true, subscribed: 0, urls: 0, trusted: false }),
      },
    })
    expect(await ready('/health')).toMatchObject({ status: 200, body: { ready: true, engine: { name: 'portable' } } })
  })

  it('is ready on an OP-stack chain with the portable build', async () => {
    const CHAIN_GENESIS_FILE = fileURLToPath(new URL('../../../testing/devnet/op-genesis.json', import.meta.url))
    gateway = await startGateway({
      UPSTREAM_RPC_URL: upstream.url,
      EVM_ENGINE: 'portable',
      CHAIN_GENESIS_FILE,
    })
    expect(await ready()).toMatchObject({ status: 200, body: { ready: true, engine: { name: 'portable' } } })
  })

  it('starts without the upstream, is not ready, and becomes ready with it', async () => {
    upstream.fault = 'http-500'
    gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url })
    expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200)
    const down = await ready()
    expect(down.status).toBe(503)
    expect(down.body).toMatchObject({ ready: false, reason: expect.stringContaining('upstream') })
    upstream.fault = undefined
    while ((await ready()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50))
  })

  it('is not ready on a stale head', async () => {
    gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url, HEAD_MAX_AGE_SECONDS: '1' })
    let stale = await ready()
    while (stale.status !== 503) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      stale = await ready()
    }
    expect(stale.body).toMatchObject({ ready: false, reason: expect.stringContaining('head') })
  })
})

describe('metrics', () => {
  it('include series that alerts watch as 0 before their first event', async () => {
    gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url })
    for (const sample of [
      'upfront_refused_requests_total{status="500"}',
      'upfront_refused_requests_total{status="503"}',
      'upfront_carry_audits_total{outcome="contradicted"}',
      'upfront_preconfirmed_events_total{event="mismatch"}',
      'upfront_requests_ended_for_memory_total',
    ]) {
      expect([sample, await gateway.metric(sample)]).toEqual([sample, 0])
    }
  })

  it('count calls, gas, cache hits and upstream calls, and include all that the dashboard shows', async () => {
    gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url })
    const params = [{ blockStateCalls: [{ calls: [{ to: '0x0000000000000000000000000000000000c0ffee' }] }] }, 'latest']
    await gateway.call('eth_simulateV1', params)
    await gateway.call('eth_simulateV1', params)
    await gateway.call('eth_simulateV1', [])
    await gateway.call('anything_else')
    expect(await gateway.metric('upfront_rpc_calls_total{method="eth_simulateV1",outcome="ok"}')).toBe(2)
    expect(await gateway.metric('upfront_rpc_calls_total{method="eth_simulateV1",outcome="invalid_params"}')).toBe(1)
    expect(await gateway.metric('upfront_rpc_calls_total{method="none",outcome="method_not_found"}')).toBe(1)
    expect(await gateway.metric('upfront_rpc_call_seconds_count{method="eth_simulateV1"}')).toBe(3)
    expect(await gateway.metric('upfront_simulated_gas_total')).toBe(42_000)
    expect(await gateway.metric('upfront_simulations_total{state="read"}')).toBe(1)
    expect(await gateway.metric('upfront_simulations_total{state="cached"}')).toBe(1)
    const { host } = upstream
    const calls = `upfront_upstream_calls_total{upstream="${host}",method="eth_getBlockByNumber",outcome="ok"}`
    expect(await gateway.metric(calls)).toBeGreaterThan(0)
    expect(await gateway.metric('process_resident_memory_bytes')).toBeGreaterThan(0)
    await expectOnDashboard(await (await fetch(`${gateway.url}/metrics`)).text())
  })
})

/** Metrics that are only there with `FLASHBLOCKS_WS_URL`. */
const NOT_ALWAYS = ['upfront_preconfirmed_age_seconds']

/** Expects every metric of the dashboard to be one of these. */
async function expectOnDashboard(metrics: string): Promise<void> {
  const file = new URL('../../../infra/dashboards/gateway.json', import.meta.url)
  const { panels } = JSON.parse(await readFile(file, 'utf8')) as { panels: { targets: { expr: string }[] }[] }
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n')
  const shown = [...new Set(expressions.match(/\b(upfront|process|nodejs)_[a-z0-9_]+/g))]
  expect(shown.length).toBeGreaterThan(20)
  const declared = new Set([...metrics.matchAll(/^# HELP (\S+) /gm)].map(([, name]) => name))
  const isThere = (name: string) => declared.has(name) || declared.has(name.replace(/_(bucket|count|sum)$/, ''))
  expect(shown.filter((name) => !isThere(name)).sort()).toEqual(NOT_ALWAYS)
}

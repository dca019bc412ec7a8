import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PaidStand, startPaidStand } from './paid-stand.js'

interface Span {
  service: string
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

/** Answers an OTLP exporter (JSON over HTTP) and keeps what it sends. */
class Collector {
  readonly spans: Span[] = []
  readonly text: string[] = []
  private readonly server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    this.text.push(text)
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
      const name = resource.attributes.find(({ key }: { key: string }) => key === 'service.name')
      for (const { spans } of scopeSpans)
        for (const span of spans) this.spans.push({ ...span, service: name.value.stringValue })
    }
    response.setHeader('content-type', 'application/json').end('{}')
  })

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
/** Prints at exit how much of OpenTelemetry was loaded: its packages are CommonJS. prom-client loads its API package itself. */
const PROBE = `process.once('exit', () => {
  const ours = Object.keys(require.cache).filter((path) => /@opentelemetry\\/(?!api\\/)/.test(path))
  console.log('LOADED ' + ours.length)
})`

const collector = new Collector()
let folder: string
let traced: Record<string, string>
let stand: PaidStand

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tracing-'))
  await writeFile(join(folder, 'probe.cjs'), PROBE)
  traced = { OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(), OTEL_BSP_SCHEDULE_DELAY: '100' }
  stand = await startPaidStand({ ...traced, LOG_LEVEL: 'info' }, traced)
}, 300_000)
afterAll(async () => {
  await stand?.stop()
  await collector.stop()
  await rm(folder, { recursive: true, force: true })
})

it("traces a paid simulation as one trace, from the caller's span through both services to the chain", async () => {
  const { usdc } = stand.devnet.contracts
  // Not read before, so it is read from the node.
  const to = `0x${'5a'.repeat(20)}`
  const response = await stand.pay(`${stand.gateway.url}/v1/simulate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${TRACE}-${CALLER}-01` },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_simulateV1',
      params: [{ blockStateCalls: [{ calls: [{ to: usdc }, { to }] }] }, 'latest'],
    }),
  })
  expect(response.status).toBe(200)
  const spans = () => collector.spans.filter(({ traceId }) => traceId === TRACE)
  const byId = () => new Map(spans().map((span) => [span.spanId, span]))
  const pathOf = (span: Span): string => {
    const parent = byId().get(span.parentSpanId ?? '')
    return `${parent === undefined ? '' : `${pathOf(parent)} > `}${span.service.replace('upfront-', '')} ${span.name}`
  }
  const sold = 'gateway POST /v1/simulate'
  const simulated = `${sold} > gateway eth_simulateV1`
  const charged = `${sold} > gateway POST > billing POST /internal/payments/:id/charge > billing charge`
  const expected = [
    `${simulated} > gateway plan`,
    `${simulated} > gateway execute`,
    `${simulated} > gateway read`,
    `${simulated} > gateway POST`,
    `${sold} > gateway POST > billing POST /internal/payments`,
    `${charged} > billing settle > billing broadcast > billing POST`,
    `${charged} > billing read receipt > billing POST`,
  ]
  const missing = () => expected.filter((path) => !spans().map(pathOf).includes(path))
  for (let left = 300; left > 0 && missing().length > 0; left -= 1)
    await new Promise((resolve) => setTimeout(resolve, 100))
  expect(missing()).toEqual([])
  // Refused without a payment, then paid: both under the caller's span.
  const roots = spans().filter(({ parentSpanId }) => !byId().has(parentSpanId ?? ''))
  expect(roots.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
    ['POST /v1/simulate', CALLER],
    ['POST /v1/simulate', CALLER],
  ])
  const lines = stand.gateway.output().split('\n')
  const payment = lines.find((line) => line.includes('"msg":"payment"'))
  expect(JSON.parse(payment ?? '{}')).toMatchObject({ trace_id: TRACE, span_id: expect.any(String) })
}, 120_000)

it("continues the caller's trace without its baggage, and ignores its sampling flag", async () => {
  const seen: IncomingHttpHeaders[] = []
  const node = createServer(async (request, response) => {
    seen.push(request.headers)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(stand.devnet.rpcUrl, { method: 'POST', headers, body: Buffer.concat(chunks) })
    response.setHeader('content-type', 'application/json').end(await answer.text())
  })
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
  const other = '1af7651916cd43dd8448eb211c80319d'
  const UPSTREAM_RPC_URL = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  const gateway = await stand.startGateway({ ...traced, UPSTREAM_RPC_URL, FOLLOW_HEAD: 'off' })
  try {
    const headers = { traceparent: `00-${other}-${CALLER}-00`, baggage: 'secret=1', tracestate: 'a=b' }
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_getBalance',
      params: [`0x${'5b'.repeat(20)}`, 'latest'],
    })
    expect((await gateway.post(body, headers)).status).toBe(200)
    const spans = () => collector.spans.filter(({ traceId }) => traceId === other)
    for (let left = 100; left > 0 && spans().length === 0; left -= 1)
      await new Promise((resolve) => setTimeout(resolve, 100))
    expect(spans().length).toBeGreaterThan(0)
    const passed = seen.filter(({ traceparent }) => String(traceparent).includes(other))
    expect(passed.length).toBeGreaterThan(0)
    expect(passed.filter(({ baggage }) => baggage !== undefined)).toEqual([])
  } finally {
    await gateway.stop()
    node.closeAllConnections()
    node.close()
  }
})

it('billing ignores the sampling flag of a caller without its token', async () => {
  const stranger = '2af7651916cd43dd8448eb211c80319e'
  const headers = { traceparent: `00-${stranger}-${CALLER}-00` }
  expect((await fetch(`${stand.billingUrl}/supported`, { headers })).status).toBe(200)
  const spans = () => collector.spans.filter(({ traceId }) => traceId === stranger)
  for (let left = 100; left > 0 && spans().length === 0; left -= 1)
    await new Promise((resolve) => setTimeout(resolve, 100))
  expect(spans()).toMatchObject([{ name: 'GET /supported' }])
})

it("loads OpenTelemetry only if spans are exported, and exports only the origin of a node's URL", async () => {
  const NODE_OPTIONS = `--require ${join(folder, 'probe.cjs')}`
  const loaded = async (environment: Record<string, string>) => {
    const gateway = await stand.startGateway({ NODE_OPTIONS, ...environment })
    await gateway.call('eth_blockNumber')
    await gateway.stop()
    return Number(/LOADED (\d+)/.exec(gateway.output())?.[1])
  }
  expect(await loaded({})).toBe(0)
  const { rpcUrl } = stand.devnet
  expect(await loaded({ ...traced, UPSTREAM_RPC_URL: `${rpcUrl}/path-key?q=query-key` })).toBeGreaterThan(10)
  const sent = collector.text.join('\n')
  expect(sent).toContain(new URL(rpcUrl).origin)
  expect(sent).not.toMatch(/path-key|query-key/)
}, 240_000)

import { PassThrough } from 'node:stream'
import { createLogger, Metrics } from '@upfront/service'
import { Telemetry } from './telemetry.js'

function begin() {
  const destination = new PassThrough()
  const metrics = new Metrics()
  const telemetry = new Telemetry(createLogger({ level: 'info', destination }), metrics)
  const lines = () => {
    const text: Buffer | null = destination.read()
    return text === null
      ? []
      : text
          .toString()
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
  }
  return { telemetry, metrics, lines }
}

it('counts every flashblock that reaches a native precompile and logs a warning once', async () => {
  const { telemetry, metrics, lines } = begin()
  const reason = 'transaction 0: 0xb20f000000000000000000000000000000000000 is a native precompile of this chain'
  for (const blockNumber of [7n, 8n])
    telemetry.tell('preconfirmed.nativePrecompile', { kind: 'nativePrecompile', blockNumber, index: 1, reason })
  const [line, ...others] = lines()
  expect(line).toMatchObject({ blockNumber: '7', index: 1, reason })
  expect(line).not.toHaveProperty('kind')
  expect(others).toEqual([])
  expect(await metrics.text()).toContain('upfront_preconfirmed_events_total{event="nativePrecompile"} 2')
})

it("logs only the host of a stream's URL", () => {
  const { telemetry, lines } = begin()
  telemetry.tell('preconfirmed.connected', { kind: 'connected', url: 'wss://stream.example/a-key?token=secret' })
  const [line] = lines()
  expect(line).toMatchObject({ stream: 'stream.example' })
  expect(JSON.stringify(line)).not.toMatch(/a-key|secret/)
})

it('exports listed series as 0 before the first event', async () => {
  const { metrics } = begin()
  const text = await metrics.text()
  expect(text).toContain('upfront_refused_requests_total{status="503"} 0')
  expect(text).toContain('upfront_simulated_gas_total 0')
  expect(text).not.toContain('upfront_rpc_calls_total{')
})

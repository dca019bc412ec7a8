import { PassThrough } from 'node:stream'
import { createLogger, Metrics } from '@upfront/service'
import { PreconfirmedJournal } from './preconfirmed-journal.js'

it('counts each flashblock that reaches a native precompile, and says so once', async () => {
  const destination = new PassThrough()
  const metrics = new Metrics()
  const journal = new PreconfirmedJournal(createLogger({ level: 'info', destination }), metrics)
  const reason = 'transaction 0: 0xb20f000000000000000000000000000000000000 is a native precompile of this chain'
  for (const blockNumber of [7n, 8n]) journal.observe({ kind: 'nativePrecompile', blockNumber, index: 1, reason })
  const lines = String(destination.read()).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ blockNumber: '7', index: 1, reason, level: expect.anything() }),
  ])
  expect(await metrics.text()).toContain('upfront_preconfirmed_events_total{event="nativePrecompile"} 2')
})

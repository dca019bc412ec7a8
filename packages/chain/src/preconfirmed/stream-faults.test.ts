import { StreamFaults } from './stream-faults.js'

it('StreamFaults records each fault once per block, without URLs and reasons', () => {
  const faults = new StreamFaults()
  const gap = { kind: 'arrival', arrival: 'gap', blockNumber: 7n } as const
  faults.note({ kind: 'arrival', arrival: 'next', blockNumber: 7n, index: 1 })
  faults.note({ ...gap, index: 3 })
  faults.note({ ...gap, index: 4 })
  faults.note({ ...gap, blockNumber: 8n, index: 2 })
  faults.note({ kind: 'mismatch', blockNumber: 8n, index: 2, reason: 'gas' })
  faults.note({ kind: 'lost', url: 'ws://key@stream', reason: 'closed', retryInMs: 1_000 })
  faults.note({ kind: 'fallback' })
  const at = expect.any(String)
  expect(faults.recent()).toEqual([
    { kind: 'gap', block: '7', flashblock: 3, at },
    { kind: 'gap', block: '8', flashblock: 2, at },
    { kind: 'mismatch', block: '8', flashblock: 2, at },
    { kind: 'lost', at },
  ])
})

it('StreamFaults keeps the last 20 faults', () => {
  const faults = new StreamFaults()
  for (let block = 0n; block < 50n; block++) faults.note({ kind: 'differs', blockNumber: block })
  expect(faults.recent().map(({ block }) => block)).toEqual(Array.from({ length: 20 }, (_, at) => String(at + 30)))
})

it('StreamFaults reports no gap for the block in progress when the stream was joined', () => {
  const faults = new StreamFaults()
  const gap = { kind: 'arrival', arrival: 'gap', index: 6 } as const
  faults.note({ kind: 'connected', url: 'ws://stream' })
  faults.note({ ...gap, blockNumber: 7n })
  faults.note({ kind: 'arrival', arrival: 'first', blockNumber: 8n, index: 0 })
  faults.note({ ...gap, blockNumber: 8n })
  expect(faults.recent().map(({ block }) => block)).toEqual(['8'])
})

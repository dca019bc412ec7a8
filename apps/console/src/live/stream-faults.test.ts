import type { Readiness } from './readiness.js'
import { StreamFaults } from './stream-faults.js'

const at = '2026-11-23T12:00:00.000Z'
type Faults = NonNullable<NonNullable<Readiness['preconfirmed']>['faults']>
const report = (faults: Faults): Readiness => ({ preconfirmed: { connected: true, faults } })

it('reports each stream fault once', () => {
  const faults = new StreamFaults()
  const gap = { kind: 'gap', block: '7', flashblock: 3, at } as const
  const lost = { kind: 'lost', at } as const
  expect(faults.unseen({})).toEqual([])
  expect(faults.unseen(report([gap]))).toMatchObject([{ at: Date.parse(at), disturbance: { kind: 'gap' } }])
  expect(faults.unseen(report([gap, lost])).map(({ disturbance }) => disturbance.kind)).toEqual(['lost'])
  expect(faults.unseen(report([gap, lost]))).toEqual([])
})

it.each([
  ['gap', 'gap: flashblock 3 of block 7 arrived without those before it'],
  ['mismatch', 'not verified: flashblock 3 of block 7 differs from our own execution'],
  ['nativePrecompile', 'not verified: flashblock 3 of block 7 calls code that only the chain’s own nodes have'],
  ['differs', 'reorganisation: block 7 was sealed with content that differs from its flashblocks'],
  ['lost', 'lost: the gateway lost its connection to the stream'],
  ['undecodable', 'gap: a message of the stream could not be decoded'],
] as const)('describes a stream fault of kind %s', (kind, text) => {
  const [fault] = new StreamFaults().unseen(report([{ kind, block: '7', flashblock: 3, at }]))
  expect(`${fault!.disturbance.kind}: ${fault!.disturbance.text}`).toMatch(new RegExp(`^${text}, \\d\\d:00:00$`))
})

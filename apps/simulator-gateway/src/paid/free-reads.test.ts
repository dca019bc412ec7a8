import { asksForReadsOnly } from './free-reads.js'

const LIMITS = { depth: 64, values: 10_000, batchLength: 3 }
const read = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' }
const sold = { ...read, method: 'eth_simulateV1' }
const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))

it.each([[read], [[read, read]], [{ ...read, method: 'not_known' }]])('%j is free: it contains reads only', (body) => {
  expect(asksForReadsOnly(bytes(body), LIMITS)).toBe(true)
})

it.each([
  ['a simulation', sold],
  ['a batch with a simulation', [read, sold]],
  ['a simulation by another name', { ...read, method: 'tenderly_simulateTransaction' }],
  ['its name escaped', JSON.stringify(sold).replace('V1', '\\u00561')],
  ['a notification', { ...read, id: undefined }],
  ['an invalid entry', [read, 1]],
  ['a batch that is too long', [read, read, read, read]],
  ['an empty batch', []],
  ['no JSON', '{'],
  ['a long body', { ...read, params: ['0'.repeat(70_000)] }],
])('%s is not free', (_what, body) => {
  expect(asksForReadsOnly(bytes(body), LIMITS)).toBe(false)
})

it('a request without a body is not free', () => {
  expect(asksForReadsOnly(undefined, LIMITS)).toBe(false)
})

import { decodeEnvelopeInParts } from '../json-rpc/envelope.js'
import { PART_ENTRIES, type Parts } from '../parts.js'
import { RpcError } from '../rpc-error.js'
import { decodeSimulationRequest, decodeSimulationRequestInParts } from './decode-simulation-request.js'
import { DEFAULT_SIMULATION_LIMITS } from './simulation-limits.js'

const MANY = 10 * PART_ENTRIES
const LIMITS = { ...DEFAULT_SIMULATION_LIMITS, callsPerBlock: MANY, totalCalls: MANY }

const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
const slot = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const many = <T>(make: (n: number) => T) => Array.from({ length: MANY }, (_, n) => make(n))
const map = (key: (n: number) => string, value: unknown) => Object.fromEntries(many((n) => [key(MANY - n), value]))

/** The result, and the number of parts. */
function finish<T>(work: Parts<T>): { value: T; parts: number } {
  for (let parts = 1; ; parts += 1) {
    const { done, value } = work.next()
    if (done) return { value, parts }
  }
}

/** The params of a request with this block. */
function paramsOf(block: unknown): unknown {
  const params = [{ blockStateCalls: [block] }, 'latest']
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params })
  const { value } = finish(decodeEnvelopeInParts(body, { depth: 64, values: 300_000, batchLength: 1 }))
  const [entry] = value.entries
  return entry?.kind === 'request' ? entry.params : undefined
}

function refusal(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof RpcError) return `${error.code} ${error.message}`
    throw error
  }
  throw new Error('was taken')
}

describe('decodeSimulationRequestInParts', () => {
  it.each([
    ['accounts', { stateOverrides: map(address, { balance: '0x1' }) }],
    ['slots', { stateOverrides: { [address(1)]: { stateDiff: map(slot, slot(7)), nonce: '0x1' } } }],
    ['slots by another name', { stateOverrides: { [address(1)]: { storage: map(slot, slot(7)) } } }],
    [
      'slots of an account among many',
      { stateOverrides: { ...map(address, {}), [address(3)]: { state: map(slot, slot(7)) } } },
    ],
    ['calls', { calls: many((n) => ({ to: address(n) })) }],
    ['access lists', { calls: [{ accessList: many((n) => ({ address: address(n), storageKeys: [] })) }] }],
    ['keys', { calls: [{}, { accessList: [{ address: address(1), storageKeys: many(slot) }] }] }],
    ['bytes of code', { stateOverrides: { [address(1)]: { code: `0x${'aB'.repeat(1_500_000)}` } } }],
    ['bytes of input', { calls: [{ data: '0x01', input: `0x${'ab'.repeat(1_500_000)}` }] }],
    ['bytes of data beside input', { calls: [{ input: '0x01', data: `0X${'ab'.repeat(1_500_000)}` }] }],
    ['blob hashes', { calls: [{ blobVersionedHashes: many(slot) }] }],
  ])('decodes many %s in parts to the same request', (_, block) => {
    const { value, parts } = finish(decodeSimulationRequestInParts(paramsOf(block), LIMITS))
    expect(parts).toBeGreaterThanOrEqual(MANY / PART_ENTRIES)
    const whole = decodeSimulationRequest([{ blockStateCalls: [block] }, 'latest'], LIMITS)
    for (const { stateOverrides } of value.blockStateCalls) {
      stateOverrides.sort((a, b) => (a.address < b.address ? -1 : 1))
    }
    expect(value).toEqual(whole)
  })

  it('sorts accounts that move precompiles to the front, by address', () => {
    const moving = {
      [address(9)]: { movePrecompileToAddress: address(1) },
      [address(2)]: { movePrecompileToAddress: address(3) },
    }
    const stateOverrides = { ...map((n) => address(n + 99), {}), ...moving }
    const { value } = finish(decodeSimulationRequestInParts(paramsOf({ stateOverrides }), LIMITS))
    const [first, second] = value.blockStateCalls[0]!.stateOverrides
    expect([first?.address, second?.address]).toEqual([address(2), address(9)])
  })

  it.each([
    [
      'an account',
      { ...map(address, {}), '0x1': {} },
      `-32602 blockStateCalls[0].stateOverrides["0x1"]: expected an address`,
    ],
    [
      'a field',
      { ...map(address, {}), [address(5)]: { balance: 1 } },
      `["${address(5)}"].balance: expected a hex quantity`,
    ],
    [
      'a slot',
      { [address(1)]: { state: { ...map(slot, slot(1)), [slot(3)]: '0x' } } },
      `.state["${slot(3)}"]: expected 32 bytes`,
    ],
    [
      'an address that is there twice',
      { ...map((n) => address(n + 0xabcdef), {}), [address(0xabcdf0).replace('abcdf0', 'ABCDF0')]: {} },
      'the same address is overridden twice',
    ],
    ['too many moves', map(address, { movePrecompileToAddress: address(1) }), 'accounts move a precompile'],
  ])('rejects one malformed value among many with its place: %s', (_, stateOverrides, words) => {
    expect(refusal(() => finish(decodeSimulationRequestInParts(paramsOf({ stateOverrides }), LIMITS)))).toContain(words)
  })

  it('checks the number of calls after it has decoded them', () => {
    const params = paramsOf({ calls: many(() => ({})) })
    expect(refusal(() => finish(decodeSimulationRequestInParts(params, DEFAULT_SIMULATION_LIMITS)))).toContain('-38026')
  })
})

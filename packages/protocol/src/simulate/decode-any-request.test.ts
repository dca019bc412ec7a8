import fc from 'fast-check'
import { RpcError } from '../rpc-error.js'
import { decodeSimulationRequest } from './decode-simulation-request.js'
import { DEFAULT_SIMULATION_LIMITS } from './simulation-limits.js'

const A = `0x${'a'.repeat(40)}`
const B = `0x${'Bb'.repeat(20)}`
const slot = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

const decode = (payload: unknown, block: unknown = 'latest', limits = DEFAULT_SIMULATION_LIMITS) =>
  decodeSimulationRequest([payload, block], limits)

function refusal(run: () => unknown): { code: number; message: string } {
  try {
    run()
  } catch (error) {
    if (error instanceof RpcError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('was taken')
}

/** A payload with every field. */
const EVERYTHING = {
  validation: true,
  traceTransfers: false,
  returnFullTransactions: true,
  blockStateCalls: [
    {
      blockOverrides: {
        number: '0x1',
        time: '0x2',
        gasLimit: '0x3',
        feeRecipient: A,
        prevRandao: slot(1),
        baseFeePerGas: '0x4',
        blobBaseFee: '0x5',
        beaconRoot: slot(2),
        withdrawals: [{ index: '0x1', validatorIndex: '0x2', address: A, amount: '0x3' }],
      },
    },
    {
      blockOverrides: { timestamp: '0x9', difficulty: '0x0' },
      stateOverrides: {
        [A]: { balance: '0x1', nonce: '0x2', code: '0x', state: { [slot(1)]: slot(2) } },
        [slot(1).slice(0, 42)]: { stateDiff: { [slot(3)]: slot(4) }, movePrecompileToAddress: A },
        [B]: { storage: { [slot(5)]: slot(6) } },
      },
      calls: [
        {},
        {
          from: A,
          to: B,
          gas: '0x1',
          value: '0x2',
          nonce: '0x3',
          input: '0xab',
          maxFeePerGas: '0x4',
          maxPriorityFeePerGas: '0x5',
          maxFeePerBlobGas: '0x6',
          chainId: '0x7',
          accessList: [{ address: A, storageKeys: [slot(1), slot(2)] }],
          blobVersionedHashes: [slot(3)],
          authorizationList: [{ chainId: '0x0', address: A, nonce: '0x1', yParity: '0x1', r: '0x5', s: '0x6' }],
        },
        { data: '0x01', gasPrice: '0x1' },
      ],
    },
  ],
}

interface Leaf {
  place: string
  set: (payload: object, value: unknown) => void
}

/** Every value except containers, with the place that an error should name and a function that replaces it in a copy. */
function leavesOf(value: unknown, place: string, path: string[] = []): Leaf[] {
  if (typeof value !== 'object' || value === null) {
    return [
      {
        place,
        set: (payload, replacement) => {
          const parent = path
            .slice(0, -1)
            .reduce((at, key) => at[key] as Record<string, unknown>, payload as Record<string, unknown>)
          parent[path.at(-1) as string] = replacement
        },
      },
    ]
  }
  return Object.entries(value).flatMap(([key, inner]) => {
    const step = Array.isArray(value)
      ? `[${key}]`
      : key.startsWith('0x')
        ? `["${key}"]`
        : `${place === '' ? '' : '.'}${key}`
    return leavesOf(inner, place + step, [...path, key])
  })
}

describe('decodeSimulationRequest on any request', () => {
  it('names the place of every malformed value', () => {
    const leaves = leavesOf(EVERYTHING, '')
    expect(leaves.length).toBeGreaterThan(40)
    for (const { place, set } of leaves) {
      for (const junk of [7, {}, '0xnothex']) {
        const payload = structuredClone(EVERYTHING)
        set(payload, junk)
        const { code, message } = refusal(() => decode(payload))
        expect(code).toBe(-32602)
        expect(message.startsWith(`${place}: expected `)).toBe(true)
      }
    }
    expect(decode(EVERYTHING).blockStateCalls).toHaveLength(2)
  })

  it('decodes any JSON or rejects it with -32602', () => {
    const junk = fc.oneof(fc.jsonValue(), fc.constantFrom(null, '0x1', A, slot(1), '0x', 1e300, '__proto__'))
    const named = (...names: string[]) =>
      fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), junk, { maxKeys: 4 })
    const call = named('from', 'to', 'gas', 'accessList', 'authorizationList', 'data', 'input', 'type', '__proto__')
    const block = fc.record(
      {
        calls: fc.oneof(fc.array(call, { maxLength: 3 }), junk),
        stateOverrides: fc.oneof(fc.dictionary(fc.constantFrom(A, B, 'x'), named('balance', 'storage', 'state')), junk),
        blockOverrides: fc.oneof(named('number', 'time', 'withdrawals', 'timestamp'), junk),
      },
      { requiredKeys: [] },
    )
    const payload = fc.oneof(
      junk,
      fc.record(
        { blockStateCalls: fc.oneof(fc.array(block, { maxLength: 3 }), junk), validation: junk },
        { requiredKeys: [] },
      ),
    )
    fc.assert(
      fc.property(fc.oneof(fc.tuple(payload, junk), junk, fc.array(junk)), (params) => {
        try {
          decodeSimulationRequest(JSON.parse(JSON.stringify(params)), DEFAULT_SIMULATION_LIMITS)
        } catch (error) {
          expect(error).toBeInstanceOf(RpcError)
          expect([-32602, -32000]).toContain((error as RpcError).code)
        }
      }),
      { numRuns: 500 },
    )
  })
})

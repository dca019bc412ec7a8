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

const withCall = (call: unknown) => decode({ blockStateCalls: [{ calls: [call] }] })
const callOf = (call: unknown) => withCall(call).blockStateCalls[0]?.calls[0]
const overridesOf = (stateOverrides: unknown) =>
  decode({ blockStateCalls: [{ stateOverrides }] }).blockStateCalls[0]?.stateOverrides
const blockOf = (blockOverrides: unknown) =>
  decode({ blockStateCalls: [{ blockOverrides }] }).blockStateCalls[0]?.blockOverrides

describe('decodeSimulationRequest', () => {
  it('decodes the smallest request', () => {
    expect(decode({ blockStateCalls: [{}] }, 'pending')).toEqual({
      blockStateCalls: [{ calls: [], stateOverrides: [], blockOverrides: {} }],
      traceTransfers: false,
      validation: false,
      returnFullTransactions: false,
      block: { kind: 'tag', tag: 'pending' },
    })
  })

  it('decodes every field of a call', () => {
    expect(
      callOf({
        type: '0x4',
        from: A,
        to: B,
        gas: '0xffffffffffffffff',
        value: `0x${'f'.repeat(64)}`,
        nonce: '0x0',
        input: '0xAB',
        data: '0xab',
        maxFeePerGas: '0x1',
        maxPriorityFeePerGas: '0x2',
        maxFeePerBlobGas: '0x3',
        accessList: [{ address: A, storageKeys: [slot(1)] }],
        blobVersionedHashes: [slot(2)],
        authorizationList: [{ chainId: '0x0', address: A, nonce: '0x1', yParity: '0x1', r: '0x5', s: '0x6' }],
        chainId: '0x1',
      }),
    ).toEqual({
      from: A,
      to: B.toLowerCase(),
      gas: 2n ** 64n - 1n,
      value: 2n ** 256n - 1n,
      nonce: 0n,
      input: '0xab',
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 2n,
      maxFeePerBlobGas: 3n,
      accessList: [{ address: A, storageKeys: [slot(1)] }],
      blobVersionedHashes: [slot(2)],
      authorizationList: [{ chainId: 0n, address: A, nonce: 1n, yParity: 1n, r: 5n, s: 6n }],
      chainId: 1n,
    })
  })

  it('treats null as absent', () => {
    const nothing = { from: null, to: null, gas: null, input: null, data: null, accessList: null, type: null }
    expect(callOf(nothing)).toEqual({})
    expect(
      decode({
        blockStateCalls: [{ calls: null, stateOverrides: { [A]: null }, blockOverrides: null }],
        validation: null,
      }),
    ).toMatchObject({
      blockStateCalls: [{ calls: [], stateOverrides: [{ address: A }], blockOverrides: {} }],
      validation: false,
    })
  })

  it.each([
    [{ gas: '21000' }, 'gas: expected a hex quantity, got "21000"'],
    [{ gas: 21000 }, 'gas: expected a hex quantity, got 21000'],
    [{ gas: '0x' }, 'gas: expected a hex quantity, got "0x"'],
    [{ gas: '' }, 'gas: expected a hex quantity, got ""'],
    [{ gas: '-0x1' }, 'gas: expected a hex quantity, got "-0x1"'],
    [{ gas: '0x01' }, 'gas: expected a hex quantity without leading zeros, got "0x01"'],
    [
      { gas: `0x${'0'.repeat(63)}1` },
      'gas: expected a hex quantity without leading zeros, got "0x0000000000000000000000000000000000000000000000000000000000000001"',
    ],
    [{ gas: '0x10000000000000000' }, 'gas: expected a hex quantity of at most 64 bits, got "0x10000000000000000"'],
    [{ value: { a: 1 } }, 'value: expected a hex quantity, got an object'],
    [{ to: '0x12' }, 'to: expected an address of 20 bytes in hex, got "0x12"'],
    [{ to: '' }, 'to: expected an address of 20 bytes in hex, got ""'],
    [{ input: '0x123' }, 'input: expected whole bytes in hex (an even number of digits), got "0x123"'],
    [{ input: '0xzz' }, 'input: expected bytes in hex, got "0xzz"'],
    [{ input: 'abcd' }, 'input: expected bytes in hex, got "abcd"'],
    [{ accessList: {} }, 'accessList: expected an array of access-list entries, got an object'],
    [{ accessList: [{ address: A }] }, 'accessList[0].storageKeys: expected an array of storage keys, got nothing'],
    [
      { accessList: [{ address: A, storageKeys: ['0x1'] }] },
      'accessList[0].storageKeys[0]: expected 32 bytes in hex, got "0x1"',
    ],
    [
      { authorizationList: [{ chainId: '0x1', address: A, nonce: '0x0', r: '0x1', s: '0x1' }] },
      'authorizationList[0].yParity: expected a hex quantity, got nothing',
    ],
    [{ blobVersionedHashes: ['0x01'] }, 'blobVersionedHashes[0]: expected 32 bytes in hex, got "0x01"'],
    [{ blobs: [] }, 'blobs: blob sidecars are not simulated: set `blobVersionedHashes` instead'],
  ])('names the field of a call with %j', (call, message) => {
    expect(refusal(() => withCall(call))).toEqual({ code: -32602, message: `blockStateCalls[0].calls[0].${message}` })
  })

  it.each([
    [{ blockStateCall: [] }, 'unknown field "blockStateCall"; did you mean `blockStateCalls`?'],
    [
      { blockStateCalls: [{ blockOverride: {} }] },
      'blockStateCalls[0]: unknown field "blockOverride"; did you mean `blockOverrides`?',
    ],
    [
      { blockStateCalls: [{ calls: [{ gasLimit: '0x1' }] }] },
      'blockStateCalls[0].calls[0]: unknown field "gasLimit"; did you mean `gas`?',
    ],
    [
      { blockStateCalls: [{ calls: [{ maxFeePerGass: null }] }] },
      'blockStateCalls[0].calls[0]: unknown field "maxFeePerGass"; did you mean `maxFeePerGas`?',
    ],
    [
      { blockStateCalls: [{ stateOverrides: { [A]: { balances: '0x1' } } }] },
      `blockStateCalls[0].stateOverrides["${A}"]: unknown field "balances"; did you mean \`balance\`?`,
    ],
    [
      { blockStateCalls: [{ blockOverrides: { coinbase: A } }] },
      'blockStateCalls[0].blockOverrides: unknown field "coinbase"; did you mean `feeRecipient`?',
    ],
    [
      { blockStateCalls: [{ stateOverides: {} }] },
      'blockStateCalls[0]: unknown field "stateOverides"; did you mean `stateOverrides`?',
    ],
    [
      { blockStateCalls: [{}], stateOverrides: {} },
      'unknown field "stateOverrides"; did you mean `blockStateCalls[].stateOverrides`?',
    ],
    [
      { blockStateCalls: [{ calls: [{ form: A }] }] },
      'blockStateCalls[0].calls[0]: unknown field "form"; did you mean `from`?',
    ],
    [
      { blockStateCalls: [{ blockOverrides: { foo: 1 } }] },
      'blockStateCalls[0].blockOverrides: unknown field "foo"; known fields: number, time, timestamp, gasLimit, feeRecipient, prevRandao, baseFeePerGas, blobBaseFee, beaconRoot, withdrawals, difficulty',
    ],
    [{ blockStateCalls: [] }, 'blockStateCalls: expected at least one block (empty input)'],
    [{}, 'blockStateCalls: expected at least one block (empty input)'],
    [{ blockStateCalls: [null] }, 'blockStateCalls[0]: expected a block object, got null'],
    [{ blockStateCalls: [{ calls: [[]] }] }, 'blockStateCalls[0].calls[0]: expected a call object, got an array'],
    [{ blockStateCalls: [{}], validation: 'true' }, 'validation: expected true or false, got "true"'],
    [[], 'params[0]: expected an object with `blockStateCalls`, got an array'],
  ])('rejects %j with its problem', (payload, message) => {
    expect(refusal(() => decode(payload))).toEqual({ code: -32602, message })
  })

  it.each(['foo', 'type', 'hash', 'v', 's', 'yParity', '__proto__', 'constructor', 'toString', 'time', 'id'])(
    'ignores %s in a call, as geth does',
    (key) => {
      const payload = JSON.parse(`{"foo":1,"blockStateCalls":[{"zzz":1,"calls":[{"${key}":{"gas":"0x1"}}]}]}`)
      expect(decode(payload).blockStateCalls[0]?.calls).toEqual([{}])
      expect(Object.hasOwn(Object.prototype, 'gas')).toBe(false)
    },
  )

  it('reports the first error in the order of the request, and excessive counts last', () => {
    const blocks = Array(257).fill({})
    const wrongCall = { calls: [{ gas: 1 }] }
    const first = (payload: unknown, block?: unknown) => refusal(() => decode(payload, block)).message
    expect(first({ validation: 1, blockStateCalls: [wrongCall] })).toContain('validation')
    expect(first({ blockStateCalls: [wrongCall], validation: 1 })).toContain('calls[0].gas')
    expect(first({ blockStateCalls: [...blocks, wrongCall] })).toContain('blockStateCalls[257].calls[0].gas')
    expect(first({ blockStateCalls: [] }, 'nonsense')).toContain('params[1]')
  })

  it('defaults the block to latest', () => {
    for (const params of [[{ blockStateCalls: [{}] }], [{ blockStateCalls: [{}] }, null]])
      expect(decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS).block).toEqual({ kind: 'tag', tag: 'latest' })
  })

  it('rejects missing, malformed and surplus params', () => {
    for (const params of [undefined, null, {}, 'x']) {
      expect(refusal(() => decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS)).code).toBe(-32602)
    }
    for (const params of [[], [{ blockStateCalls: [{}] }, 'latest', 1]]) {
      expect(refusal(() => decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS)).code).toBe(-32602)
    }
  })

  it('accepts `data` for `input`, and uses `input` if both are present', () => {
    expect(callOf({ data: '0x01' })).toEqual({ input: '0x01' })
    expect(callOf({ data: '0x01', input: '0x02' })).toEqual({ input: '0x02' })
    expect(callOf({ input: '0x', data: '0x02' })).toEqual({ input: '0x' })
    expect(refusal(() => withCall({ input: '0x', data: 'zz' })).message).toContain('data')
  })

  it('sorts overrides by address and accepts `storage` for `stateDiff`', () => {
    expect(
      overridesOf({
        [B]: { storage: { [slot(1)]: slot(2) } },
        [A]: { balance: '0x1', nonce: '0x2', code: '0x', state: {} },
      }),
    ).toEqual([
      { address: A, balance: 1n, nonce: 2n, code: '0x', state: [] },
      { address: B.toLowerCase(), stateDiff: [[slot(1), slot(2)]] },
    ])
  })

  it('rejects two values for the same field, account or slot', () => {
    expect(refusal(() => overridesOf({ [A]: { storage: {}, stateDiff: {} } })).code).toBe(-32602)
    expect(refusal(() => overridesOf({ [A]: { storage: {}, state: {} } })).code).toBe(-32602)
    expect(refusal(() => overridesOf({ [B]: {}, [B.toLowerCase()]: {} })).message).toContain('overridden twice')
    const slots = { [`0x${'a'.repeat(64)}`]: slot(1), [`0x${'A'.repeat(64)}`]: slot(2) }
    expect(refusal(() => overridesOf({ [A]: { stateDiff: slots } })).message).toContain('overridden twice')
    expect(refusal(() => blockOf({ time: '0x1', timestamp: '0x2' })).message).toContain('not equal')
  })

  it('decodes block overrides with `time` or `timestamp`', () => {
    const withdrawals = [{ index: '0x1', validatorIndex: '0x2', address: A, amount: '0x3' }]
    expect(
      blockOf({
        number: '0x1',
        time: '0x2',
        timestamp: '0x2',
        gasLimit: '0x3',
        feeRecipient: A,
        prevRandao: slot(1),
        baseFeePerGas: '0x4',
        blobBaseFee: '0x5',
        beaconRoot: slot(2),
        withdrawals,
        difficulty: '0x0',
      }),
    ).toEqual({
      number: 1n,
      timestamp: 2n,
      gasLimit: 3n,
      feeRecipient: A,
      prevRandao: slot(1),
      baseFeePerGas: 4n,
      blobBaseFee: 5n,
      beaconRoot: slot(2),
      withdrawals: [{ index: 1n, validatorIndex: 2n, address: A, amount: 3n }],
    })
    expect(blockOf({ timestamp: '0x9' })).toEqual({ timestamp: 9n })
  })

  it('rejects too many blocks or calls with -38026', () => {
    expect(refusal(() => decode({ blockStateCalls: Array(257).fill({ nonsense: 1 }) })).code).toBe(-38026)
    expect(refusal(() => decode({ blockStateCalls: [{ calls: Array(5001).fill({}) }] }))).toEqual({
      code: -38026,
      message: 'blockStateCalls[0].calls: too many calls in block: 5001 > 5000',
    })
    const block = { calls: Array(4000).fill({}) }
    expect(refusal(() => decode({ blockStateCalls: [block, block, block] })).code).toBe(-38026)
  })

  it('truncates the quoted value in an error', () => {
    const { message } = refusal(() => withCall({ gas: '9'.repeat(1_000_000) }))
    expect(message.length).toBeLessThan(250)
    expect(refusal(() => withCall({ input: '\ud800' })).message).toContain('"\\ud800"')
  })
})

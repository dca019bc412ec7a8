import { type Parts, RpcError } from '@upfront/protocol'
import fc from 'fast-check'
import {
  decodeAbiParameters,
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  encodeFunctionData,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import { abiDecoder, readAbi } from './abi-decoder.js'
import { DecodingBudget } from './abi-values.js'

const A = `0x${'aa'.repeat(20)}` as const
const abi = parseAbi([
  'struct Order { address maker; uint256[] amounts; }',
  'function fill(Order order, bool all) returns (uint256)',
  'error TooLate(uint256 deadline, address)',
  'event Filled(address indexed maker, string note, uint8 indexed side)',
])

/** Runs all parts and counts them. */
function finish<T>(parts: Parts<T>): { value: T; turns: number } {
  for (let turns = 1; ; turns++) {
    const { done, value } = parts.next()
    if (done) return { value, turns }
  }
}

async function decoderOf(entries: readonly { type: string }[], bytes = 2 ** 20) {
  const decoder = abiDecoder([await readAbi(entries)], new DecodingBudget(bytes))
  return {
    call: (...given: Parameters<typeof decoder.call>) => finish(decoder.call(...given)).value,
    error: (...given: Parameters<typeof decoder.error>) => finish(decoder.error(...given)).value,
    log: (...given: Parameters<typeof decoder.log>) => finish(decoder.log(...given)).value,
  }
}

/** Types with values for viem to encode, and the expected result. */
interface Sample {
  parameter: { type: string; name: string; components?: { type: string; name: string }[] }
  value: unknown
  shown: unknown
}

const bytesOf = (length: { minLength: number; maxLength: number }) =>
  fc.uint8Array(length).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
const leaf = fc.oneof(
  fc
    .record({ bits: fc.integer({ min: 1, max: 32 }), seed: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }) })
    .map(({ bits, seed }) => {
      const value = BigInt.asUintN(8 * bits, seed)
      return { type: `uint${8 * bits}`, value: bits > 6 ? value : Number(value), shown: `${value}` }
    }),
  fc
    .record({ bits: fc.integer({ min: 1, max: 32 }), seed: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }) })
    .map(({ bits, seed }) => {
      const value = BigInt.asIntN(8 * bits, seed)
      return { type: `int${8 * bits}`, value: bits > 6 ? value : Number(value), shown: `${value}` }
    }),
  fc.boolean().map((value) => ({ type: 'bool', value, shown: value })),
  bytesOf({ minLength: 20, maxLength: 20 }).map((value) => ({ type: 'address', value, shown: value })),
  bytesOf({ minLength: 1, maxLength: 32 }).map((value) => ({
    type: `bytes${value.length / 2 - 1}`,
    value,
    shown: value,
  })),
  bytesOf({ minLength: 0, maxLength: 70 }).map((value) => ({ type: 'bytes', value, shown: value })),
  fc.string({ maxLength: 40, unit: 'grapheme' }).map((value) => ({ type: 'string', value, shown: value })),
)
const sample: fc.Arbitrary<Sample> = fc.letrec<{ node: Sample }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    leaf.map(({ type, value, shown }): Sample => ({ parameter: { type, name: '' }, value, shown })),
    fc.record({ item: tie('node'), length: fc.integer({ min: 1, max: 3 }), isFixed: fc.boolean() }).map(
      ({ item, length, isFixed }): Sample => ({
        parameter: { ...item.parameter, type: `${item.parameter.type}[${isFixed ? length : ''}]` },
        value: Array(length).fill(item.value),
        shown: Array(length).fill(item.shown),
      }),
    ),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map(
      (fields): Sample => ({
        parameter: {
          type: 'tuple',
          name: '',
          components: fields.map(({ parameter }, at) => ({ ...parameter, name: `f${at}` })),
        },
        value: Object.fromEntries(fields.map(({ value }, at) => [`f${at}`, value])),
        shown: Object.fromEntries(fields.map(({ shown }, at) => [`f${at}`, shown])),
      }),
    ),
  ),
})).node

describe('abiDecoder', () => {
  it('decodes what viem encodes, for random types', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sample, { maxLength: 4 }), async (samples) => {
        const inputs = samples.map(({ parameter }, at) => ({ ...parameter, name: `a${at}` }))
        const entry = { type: 'function', name: 'f', inputs, outputs: [], stateMutability: 'view' } as const
        const data = encodeAbiParameters(
          inputs,
          samples.map(({ value }) => value),
        )
        const input = `${toFunctionSelector(entry)}${data.slice(2)}` as const
        const args = Object.fromEntries(samples.map(({ shown }, at) => [`a${at}`, shown]))
        expect((await decoderOf([entry])).call(input)).toEqual({ name: 'f', args })
      }),
      { numRuns: 300 },
    )
  })

  it('decodes any data that viem can decode', async () => {
    const someWords = fc.array(
      fc.oneof(
        fc.nat({ max: 200 }).map((word) => word - (word % 32)),
        fc.nat({ max: 5 }),
      ),
      { maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 3 }), someWords, async (samples, given) => {
        const inputs = samples.map(({ parameter }, at) => ({ ...parameter, name: `a${at}` }))
        const entry = { type: 'function', name: 'f', inputs, outputs: [], stateMutability: 'view' } as const
        // Truncated to viem's length: viem would read a missing last address from earlier data.
        const { length } = encodeAbiParameters(
          inputs,
          samples.map(({ value }) => value),
        )
        const words = given.map((word) => word.toString(16).padStart(64, '0')).join('')
        const data = words.padEnd(length - 2, '0')
        const decoded = (await decoderOf([entry], 2 ** 24)).call(`${toFunctionSelector(entry)}${data}` as `0x${string}`)
        try {
          decodeAbiParameters(inputs, `0x${data}`)
        } catch {
          return
        }
        expect(decoded).toBeDefined()
      }),
      { numRuns: 300 },
    )
  })

  it('stops at the decoding budget, in turns, if the data refers to the same place many times', async () => {
    // Each list refers 20 times to the next one, in 5 levels: 20^5 numbers from 106 words.
    const word = (value: number) => value.toString(16).padStart(64, '0')
    const level = word(20) + word(20 * 32).repeat(20)
    const data = `${word(32)}${level.repeat(4)}${word(20)}${word(1).repeat(20)}`
    const entry = { type: 'function', name: 'f', inputs: [{ type: 'uint256[][][][][]', name: 'deep' }] }
    const input = `${toFunctionSelector({ ...entry, outputs: [], stateMutability: 'view' } as never)}${data}` as const
    const refusal = new RpcError(-32005, 'abi: the decoded values are longer than 1048576 bytes')
    const decoder = abiDecoder([await readAbi([entry])], new DecodingBudget(2 ** 20))
    let turns = 0
    expect(() => {
      for (const parts = decoder.call(input); !parts.next().done; ) turns += 1
    }).toThrow(refusal)
    expect(turns).toBeGreaterThanOrEqual(10)
  })

  it('refuses names, types and parameter lists that are too long', async () => {
    for (const entry of [
      { type: 'event', name: 'x'.repeat(7_000_000), inputs: [] },
      { type: 'event', name: 'x', inputs: [{ type: 'uint256', name: 'y'.repeat(300) }] },
      { type: 'event', name: 'x', inputs: [{ type: `uint256${'[]'.repeat(200)}`, name: 'y' }] },
      { type: 'event', name: 'x', inputs: Array(30_000).fill({ type: 'uint256', name: '' }) },
    ])
      await expect(decoderOf([entry])).rejects.toThrow('abi[0]: expected an ABI entry as compilers write it')
  })

  it('decodes calls with structs and arrays', async () => {
    const data = encodeFunctionData({
      abi,
      functionName: 'fill',
      args: [{ maker: A, amounts: [1n, 2n ** 200n] }, true],
    })
    const args = { order: { maker: A, amounts: ['1', `${2n ** 200n}`] }, all: true }
    expect((await decoderOf(abi)).call(data)).toEqual({ name: 'fill', args })
  })

  it('decodes custom errors by the ABI, and Solidity’s built-in errors without one', async () => {
    const decoder = await decoderOf(abi)
    expect(decoder.error(encodeErrorResult({ abi, errorName: 'TooLate', args: [5n, A] }))).toEqual({
      name: 'TooLate',
      args: { deadline: '5', 1: A },
    })
    expect((await decoderOf([])).error(`0x4e487b71${'11'.padStart(64, '0')}`)).toEqual({
      name: 'Panic',
      args: { code: '17' },
      meaning: 'arithmetic underflow or overflow',
    })
  })

  it('decodes logs with their indexed parameters', async () => {
    const topics = encodeEventTopics({ abi, eventName: 'Filled', args: { maker: A, side: 3 } }) as `0x${string}`[]
    const data = encodeAbiParameters([{ type: 'string' }], ['hello'])
    expect((await decoderOf(abi)).log(topics, data)).toEqual({
      name: 'Filled',
      args: { maker: A, note: 'hello', side: '3' },
    })
  })

  it('returns undefined for data that does not match the ABI', async () => {
    const decoder = await decoderOf(abi)
    const [topic] = encodeEventTopics({ abi, eventName: 'Filled' }) as [`0x${string}`]
    expect(decoder.log([topic], '0x')).toBeUndefined()
    expect(decoder.log([], '0x')).toBeUndefined()
    expect(decoder.call('0x12345678')).toBeUndefined()
    expect(decoder.call('0x')).toBeUndefined()
    const data = encodeFunctionData({ abi, functionName: 'fill', args: [{ maker: A, amounts: [] }, true] })
    expect(decoder.call(data.slice(0, 80) as `0x${string}`)).toBeUndefined()
    // Names more words than the data has.
    expect(decoder.call(`0x${data.slice(2, 10)}${'ff'.repeat(96)}`)).toBeUndefined()
  })

  it('names the invalid ABI entry in the error', async () => {
    for (const inputs of [5, [{}], [{ type: 'tuple[]', components: [] }], [{ type: 'uint256[0][]' }]]) {
      const broken = { type: 'function', name: 'f', inputs }
      await expect(decoderOf([...abi, broken])).rejects.toThrow(
        new RpcError(-32602, 'abi[3]: expected an ABI entry as compilers write it'),
      )
    }
  })
})

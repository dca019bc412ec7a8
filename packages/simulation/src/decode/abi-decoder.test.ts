import { RpcError } from '@upfront/protocol'
import { encodeAbiParameters, encodeErrorResult, encodeEventTopics, encodeFunctionData, parseAbi } from 'viem'
import { abiDecoder } from './abi-decoder.js'

const A = `0x${'aa'.repeat(20)}` as const
const abi = parseAbi([
  'struct Order { address maker; uint256[] amounts; }',
  'function fill(Order order, bool all) returns (uint256)',
  'error TooLate(uint256 deadline, address)',
  'event Filled(address indexed maker, string note, uint8 indexed side)',
])

describe('abiDecoder', () => {
  it('decodes calls, with structs and lists', async () => {
    const data = encodeFunctionData({
      abi,
      functionName: 'fill',
      args: [{ maker: A, amounts: [1n, 2n ** 200n] }, true],
    })
    const args = { order: { maker: A, amounts: ['1', `${2n ** 200n}`] }, all: true }
    expect((await abiDecoder(abi)).call(data)).toEqual({ name: 'fill', args })
  })

  it('decodes errors; those of Solidity need no ABI', async () => {
    const decoder = await abiDecoder(abi)
    expect(decoder.error(encodeErrorResult({ abi, errorName: 'TooLate', args: [5n, A] }))).toEqual({
      name: 'TooLate',
      args: { deadline: '5', 1: A },
    })
    expect((await abiDecoder([])).error(`0x4e487b71${'11'.padStart(64, '0')}`)).toEqual({
      name: 'Panic',
      args: { code: '17' },
      meaning: 'arithmetic underflow or overflow',
    })
  })

  it('decodes logs with the parts that are indexed', async () => {
    const topics = encodeEventTopics({ abi, eventName: 'Filled', args: { maker: A, side: 3 } }) as `0x${string}`[]
    const data = encodeAbiParameters([{ type: 'string' }], ['hello'])
    expect((await abiDecoder(abi)).log(topics, data)).toEqual({
      name: 'Filled',
      args: { maker: A, note: 'hello', side: '3' },
    })
  })

  it('leaves aside what does not fit', async () => {
    const decoder = await abiDecoder(abi)
    const [topic] = encodeEventTopics({ abi, eventName: 'Filled' }) as [`0x${string}`]
    expect(decoder.log([topic], '0x')).toBeUndefined()
    expect(decoder.log([], '0x')).toBeUndefined()
    expect(decoder.call('0x12345678')).toBeUndefined()
    expect(decoder.call('0x')).toBeUndefined()
    const data = encodeFunctionData({ abi, functionName: 'fill', args: [{ maker: A, amounts: [] }, true] })
    expect(decoder.call(data.slice(0, 80) as `0x${string}`)).toBeUndefined()
    // Names more words than there are.
    expect(decoder.call(`0x${data.slice(2, 10)}${'ff'.repeat(96)}`)).toBeUndefined()
  })

  it('names the entry that can not be read', async () => {
    for (const inputs of [5, [{}], [{ type: 'tuple[]', components: [] }], [{ type: 'uint256[0][]' }]]) {
      const broken = { type: 'function', name: 'f', inputs }
      await expect(abiDecoder([...abi, broken])).rejects.toThrow(
        new RpcError(-32602, 'abi[3]: expected an ABI entry as compilers write it'),
      )
    }
  })
})

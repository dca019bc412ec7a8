import { blockHeaderFromRpc } from './block-header-from-rpc.js'
import { blockHeaderToRpc } from './block-header-to-rpc.js'
import { DecodeError } from './decode/decode-error.js'

const hash = (digit: string) => `0x${digit.repeat(64)}`
const block: Record<string, unknown> = {
  number: '0x36',
  hash: hash('1'),
  parentHash: hash('2'),
  nonce: '0x0000000000000000',
  mixHash: hash('3'),
  sha3Uncles: hash('4'),
  logsBloom: `0x${'0'.repeat(512)}`,
  stateRoot: hash('5'),
  miner: `0x${'6'.repeat(40)}`,
  difficulty: '0x0',
  extraData: '0x',
  gasLimit: '0xbebc200',
  gasUsed: '0x52f71',
  timestamp: '0x21c',
  transactionsRoot: hash('7'),
  receiptsRoot: hash('8'),
  baseFeePerGas: '0x1a21397',
  withdrawalsRoot: hash('9'),
  blobGasUsed: '0x0',
  excessBlobGas: '0x0',
  parentBeaconBlockRoot: hash('a'),
  requestsHash: hash('b'),
  blockAccessListHash: hash('c'),
  slotNumber: '0x7',
}

describe('blockHeaderFromRpc', () => {
  it('decodes the encoding of a header to the same header', () => {
    expect(blockHeaderToRpc(blockHeaderFromRpc({ ...block, size: '0x1', transactions: [] }))).toEqual(block)
  })

  it('treats null and missing fields of later forks as absent', () => {
    const { requestsHash, parentBeaconBlockRoot, ...older } = block
    const header = blockHeaderFromRpc({ ...older, excessBlobGas: null })
    expect(header).not.toHaveProperty('requestsHash')
    expect(header).not.toHaveProperty('excessBlobGas')
    expect([requestsHash, parentBeaconBlockRoot]).not.toContain(undefined)
  })

  it.each([
    [null, 'block: expected a block object, got null'],
    ['<html>', 'block: expected a block object, got "<html>"'],
    [{ ...block, number: null }, 'block.number: expected a hex quantity, got null'],
    [{ ...block, number: 54 }, 'block.number: expected a hex quantity, got 54'],
    [{ ...block, hash: '0x' }, 'block.hash: expected 32 bytes in hex, got "0x"'],
    [{ ...block, logsBloom: '0x00' }, 'block.logsBloom: expected 256 bytes in hex, got "0x00"'],
    [{ ...block, baseFeePerGas: 'x' }, 'block.baseFeePerGas: expected a hex quantity, got "x"'],
    [{ ...block, gasLimit: undefined }, 'block.gasLimit: expected a hex quantity, got nothing'],
  ])('rejects a malformed block: %#', (value, message) => {
    expect(() => blockHeaderFromRpc(value)).toThrow(new DecodeError(undefined, message))
  })

  it('rejects a block without any one field of the Merge', () => {
    for (const field of Object.keys(block).slice(0, 16)) {
      const { [field]: _, ...rest } = block
      expect(() => blockHeaderFromRpc(rest)).toThrow(`block.${field}: `)
    }
  })
})

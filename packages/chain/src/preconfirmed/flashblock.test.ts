import { brotliCompressSync, constants } from 'node:zlib'
import { flashblockMessage } from '../../test/flashblock-message.js'
import { decodeFrame } from './flashblock.js'

const LIMIT = 1 << 20
const opening = flashblockMessage({ number: 7, index: 0 })
const following = flashblockMessage({ number: 7, index: 1, transactions: ['0x02aa'] })
const frame = (message: unknown) => Buffer.from(JSON.stringify(message))
// The default quality takes three seconds.
const bomb = brotliCompressSync(Buffer.alloc(64 << 20, ' '), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })

describe('decodeFrame', () => {
  it('decodes plain JSON and brotli to the same flashblock', async () => {
    const plain = await decodeFrame(frame(following), LIMIT)
    expect(plain).toMatchObject({ blockNumber: 7n, index: 1, transactions: ['0x02aa'], gasUsed: 0n })
    expect(plain.base).toBeUndefined()
    expect(await decodeFrame(brotliCompressSync(frame(following)), LIMIT)).toEqual(plain)
    expect((await decodeFrame(frame(opening), LIMIT)).base).toMatchObject({ timestamp: 7n, gasLimit: 30_000_000n })
  })

  it.each([
    ['text that is no JSON', Buffer.from('{"payload_id": "0x'), 'not JSON'],
    ['an empty frame', Buffer.alloc(0), 'neither JSON nor brotli'],
    ['truncated brotli', brotliCompressSync(frame(opening)).subarray(0, 60), 'neither JSON nor brotli'],
    ['a decompression bomb', bomb, `message over ${LIMIT} bytes`],
    ['plain JSON over the limit', Buffer.from(`{"a":"${' '.repeat(LIMIT)}"}`), `message over ${LIMIT} bytes`],
    ['an index 0 without base', frame({ ...following, index: 0 }), 'base: expected an object'],
    ['a broken index', frame({ ...following, index: -1 }), 'index: expected an integer from 0 to 65535'],
    ['an index that is text', frame({ ...following, index: `0x${'7'.repeat(1_000)}` }), /^index: expected .{0,150}$/],
    ['no metadata', frame({ ...following, metadata: undefined }), 'metadata: expected an object'],
    [
      'two block numbers',
      frame({ ...opening, metadata: { block_number: 8 } }),
      'base.block_number: 7 is not metadata.block_number, 8',
    ],
    ['brackets', Buffer.from(`{"a":${'['.repeat(LIMIT / 2)}${']'.repeat(LIMIT / 3)}}`), 'too many values'],
    [
      'withdrawals beyond what a block has',
      frame({ ...opening, diff: { ...opening.diff, withdrawals: Array(17).fill({}) } }),
      'diff.withdrawals: expected at most 16',
    ],
    [
      'extra data beyond what a header has',
      frame({ ...opening, base: { ...opening.base, extra_data: `0x${'00'.repeat(10_000)}` } }),
      'base.extra_data: expected at most 256 bytes, got 10000',
    ],
    [
      'a transaction that is no hex',
      frame({ ...following, diff: { ...following.diff, transactions: ['0x0'] } }),
      'diff.transactions[0]: expected hex bytes',
    ],
  ])('rejects %s', async (_, bytes, reason) => {
    await expect(decodeFrame(bytes, LIMIT)).rejects.toThrow(reason)
  })
})

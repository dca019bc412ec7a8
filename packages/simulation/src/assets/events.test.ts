import type { Hash, Hex } from '@upfront/protocol'
import { approvalIn, type EmittedLog, transfersByLogs, transfersIn } from './events.js'

const TOKEN = `0x${'70'.repeat(20)}` as const
const A = `0x${'aa'.repeat(20)}` as const
const B = `0x${'bb'.repeat(20)}` as const
const C = `0x${'cc'.repeat(20)}` as const
const ZERO = `0x${'00'.repeat(20)}` as const
const word = (value: bigint | string) => BigInt(value).toString(16).padStart(64, '0')
const log = (topic: string, indexed: (bigint | string)[], data: (bigint | string)[]): EmittedLog => ({
  address: TOKEN,
  topics: [topic as Hash, ...indexed.map((value): Hash => `0x${word(value)}`)],
  data: `0x${data.map(word).join('')}` as Hex,
})

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
const BATCH = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
const DEPOSIT = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c'
const WITHDRAWAL = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65'
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'
const PERMIT2 = '0xda9fa7c1b00402c17d0161b249b1ab8bbec047c5a52207b9c112deffd817036b'

describe('transfersIn', () => {
  it.each([
    ['ERC-20', log(TRANSFER, [A, B], [5n]), [{ asset: { type: 'erc20', address: TOKEN }, from: A, to: B, amount: 5n }]],
    [
      'ERC-721',
      log(TRANSFER, [A, B, 9n], []),
      [{ asset: { type: 'erc721', address: TOKEN, tokenId: 9n }, from: A, to: B, amount: 1n }],
    ],
    [
      'ERC-1155',
      log(SINGLE, [C, A, B], [9n, 5n]),
      [{ asset: { type: 'erc1155', address: TOKEN, tokenId: 9n }, from: A, to: B, amount: 5n }],
    ],
    [
      'ERC-1155, several',
      log(BATCH, [C, A, B], [64n, 160n, 2n, 1n, 2n, 2n, 10n, 20n]),
      [
        { asset: { type: 'erc1155', address: TOKEN, tokenId: 1n }, from: A, to: B, amount: 10n },
        { asset: { type: 'erc1155', address: TOKEN, tokenId: 2n }, from: A, to: B, amount: 20n },
      ],
    ],
    [
      'a deposit',
      log(DEPOSIT, [A], [5n]),
      [{ asset: { type: 'erc20', address: TOKEN }, from: ZERO, to: A, amount: 5n }],
    ],
    [
      'a withdrawal',
      log(WITHDRAWAL, [A], [5n]),
      [{ asset: { type: 'erc20', address: TOKEN }, from: A, to: ZERO, amount: 5n }],
    ],
    ['ERC-20 without its amount', log(TRANSFER, [A, B], []), []],
    ['lists beyond the data', log(BATCH, [C, A, B], [64n, 2n ** 200n, 2n]), []],
    ['a list longer than the data', log(BATCH, [C, A, B], [64n, 64n, 2n ** 255n]), []],
    ['another event', log(`0x${'12'.repeat(32)}`, [A, B], [5n]), []],
  ])('returns the transfers in a log: %s', (_name, emitted, transfers) => {
    expect(transfersIn(emitted)).toEqual(transfers)
  })
})

describe('approvalIn', () => {
  it.each([
    ['ERC-20', log(APPROVAL, [A, B], [5n]), { kind: 'erc20', token: TOKEN, owner: A, spender: B, amount: 5n }],
    ['ERC-721', log(APPROVAL, [A, B, 9n], []), { kind: 'erc721', token: TOKEN, owner: A, spender: B, tokenId: 9n }],
    [
      'Permit2',
      log(PERMIT2, [A, C, B], [5n, 99n]),
      { kind: 'permit2', permit2: TOKEN, token: C, owner: A, spender: B, amount: 5n, expiration: 99n },
    ],
    ['no approval', log(TRANSFER, [A, B], [5n]), undefined],
  ])('returns the approval in a log, if any: %s', (_name, emitted, approval) => {
    expect(approvalIn(emitted)).toEqual(approval)
  })
})

describe('transfersByLogs', () => {
  it('leaves out deposits that also emit a Transfer, among thousands of logs', () => {
    const amounts = Array.from({ length: 5_000 }, (_, index) => BigInt(index))
    const logs = amounts.flatMap((amount) => [
      log(TRANSFER, [ZERO, A], [2n * amount]),
      log(DEPOSIT, [A], [amount]),
      log(WITHDRAWAL, [B], [amount]),
    ])
    const transfers = transfersByLogs(logs)
    // Every second deposit also has a transfer.
    expect(transfers).toHaveLength(5_000 + 2_500 + 5_000)
    expect(transfers.slice(5_000, 5_002)).toMatchObject([
      { from: B, to: ZERO, amount: 0n },
      { from: ZERO, to: A, amount: 1n },
    ])
  })
})

import { type AnnouncedBlock, BlockLog, type PreconfirmedBlock, type PreconfirmedSnapshot } from '@upfront/chain'
import { type UnsealedLog, UnsealedLogs } from './unsealed-logs.js'

const A = '0xaa'
const B = '0xbb'
const C = '0xcc'

/** A block with one transaction per hash, each with one log. */
function block(payloadId: string, index: number, hashes: string[], before?: PreconfirmedBlock): PreconfirmedBlock {
  const log = { address: '0x01', topics: [], data: '0x' }
  return {
    payloadId,
    index,
    hash: '0x00',
    environment: { number: 5n, timestamp: 1n },
    transactions: hashes.map((hash) => ({ hash })),
    receipts: hashes.map((_, at) => before?.receipts[at] ?? { logs: [log] }),
  } as never
}

const snapshot = (shown: PreconfirmedBlock) => ({ blocks: [shown] }) as unknown as PreconfirmedSnapshot

function sealed(hash: string, hashes: string[]): AnnouncedBlock {
  const logs = hashes.map(
    (transactionHash, at) =>
      new BlockLog({
        ...{ address: '0x01', topics: [], data: '0x', transactionHash, logIndex: `0x${at}`, blockHash: hash },
        removed: false,
      }),
  )
  return { hash, number: 5n, logs } as unknown as AnnouncedBlock
}

describe('UnsealedLogs', () => {
  let sent: string[]
  let logs: UnsealedLogs
  const told = ({ transactionHash, flashblock, confirmed, removed }: UnsealedLog) =>
    `${transactionHash} ${flashblock}${confirmed ? ' confirmed' : ''}${removed ? ' removed' : ''}`
  beforeEach(() => {
    sent = []
    logs = new UnsealedLogs((log) => sent.push(told(log)))
  })

  it('sends each log of a flashblock once and confirms it when the block is sealed', () => {
    const first = block('p1', 1, [A])
    const second = block('p1', 2, [A, B], first)
    for (const shown of [first, first, second]) logs.onSnapshot(snapshot(shown))
    expect(logs.current().map(told)).toEqual(['0xaa 1', '0xbb 2'])
    logs.onSealed(sealed('0x51', [A, B]))
    logs.onSnapshot(snapshot(second))
    expect(sent).toEqual(['0xaa 1', '0xbb 2', '0xaa 1 confirmed', '0xbb 2 confirmed'])
    expect(logs.current()).toEqual([])
  })

  it('keeps logs that a restarted block repeats at the same place and removes the others, newest first', () => {
    logs.onSnapshot(snapshot(block('p1', 2, [A, B, C])))
    logs.onSnapshot(snapshot(block('p2', 1, [A])))
    expect(sent).toEqual(['0xaa 2', '0xbb 2', '0xcc 2', '0xcc 2 removed', '0xbb 2 removed'])
  })

  it('removes logs that the sealed block lacks or has in another order', () => {
    logs.onSnapshot(snapshot(block('p1', 1, [A, B])))
    logs.onSealed(sealed('0x51', [B, A]))
    expect(sent.slice(2)).toEqual(['0xaa 1 removed', '0xbb 1 removed'])
  })

  it("removes confirmed logs if a reorganisation drops their block, then sends its successor's", () => {
    logs.onSnapshot(snapshot(block('p1', 1, [A])))
    logs.onSealed(sealed('0x51', [A]))
    logs.onReorganised(sealed('0x51', [A]))
    logs.onSnapshot(snapshot(block('p2', 3, [A, B])))
    logs.onSealed(sealed('0x52', [A, B]))
    expect(sent).toEqual([
      ...['0xaa 1', '0xaa 1 confirmed', '0xaa 1 removed'],
      ...['0xaa 3', '0xbb 3', '0xaa 3 confirmed', '0xbb 3 confirmed'],
    ])
  })
})

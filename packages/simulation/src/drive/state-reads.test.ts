import { type CallOutcome, type CallQueue, type UpstreamCall, UpstreamError, UpstreamFault } from '@upfront/node'
import { aHeader } from '../../test/fixtures.js'
import type { PinnedBlock } from '../block/pinned-block.js'
import type { StateRead } from '../engine/state.js'
import { StateReads } from './state-reads.js'

const LOST = new UpstreamFault('rpc-error', 'x', { rpc: { code: -32000, message: 'missing trie node ab (path )' } })
const balance: StateRead = { kind: 'balance', address: `0x${'11'.repeat(20)}` }

/** Reads an old block from a node with these outcomes. */
function ask(outcomes: ('lost' | 'answered')[]) {
  const header = { ...aHeader(), timestamp: 1_000n }
  const block: PinnedBlock = { header, key: header.hash }
  const attempts: unknown[] = []
  const sendAll = async (calls: UpstreamCall<unknown>[]): Promise<CallOutcome<unknown>[]> =>
    calls.map((call) => {
      attempts.push(call.retriesError?.(LOST))
      return outcomes.shift() === 'answered'
        ? { value: call.decode('0x1') }
        : { error: new UpstreamError(LOST, 'node', call.method, 1) }
    })
  const reads = new StateReads(
    { sendAll } as unknown as CallQueue,
    { provide: () => undefined, missing: (_, reads) => [...reads] },
    'node',
    () => undefined,
  )
  const read = async () => (await reads.ask(block, [balance]).outcomes)[0]
  return { read, attempts }
}

describe('StateReads', () => {
  it('allows 2 attempts if the state is missing, and 8 once the block’s state was read', async () => {
    const { read, attempts } = ask(['answered', 'lost', 'lost'])
    for (let count = 0; count < 3; count += 1) await read()
    expect(attempts).toEqual([2, 8, 8])
  })

  it('allows 1 attempt after the state was missing, and 8 again once it was read', async () => {
    const { read, attempts } = ask(['lost', 'lost', 'answered', 'lost'])
    expect(await read()).toBeInstanceOf(UpstreamError)
    for (let count = 0; count < 3; count += 1) await read()
    expect(attempts).toEqual([2, 1, 1, 8])
  })
})

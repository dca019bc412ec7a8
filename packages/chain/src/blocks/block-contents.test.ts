import type { CallQueue, UpstreamCall } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import { BlockLogs } from './block-contents.js'

const hashOf = (number: number): Hash => `0x${number.toString(16).padStart(64, '0')}`
const header = (number: number) => ({ hash: hashOf(number), logsBloom: `0x${'ff'.repeat(256)}` as const })

/** A node whose blocks have `count` logs with `bytes` of data each. */
function asked(count: number, bytes: number) {
  const sent: Hash[] = []
  const data = `0x${'00'.repeat(bytes)}`
  const send = async (call: UpstreamCall<unknown>) => {
    const [{ blockHash }] = call.params as [{ blockHash: Hash }]
    sent.push(blockHash)
    return { value: call.decode(Array(count).fill({ address: '0xaa', topics: [], data, blockHash })) }
  }
  return { logs: new BlockLogs({ send } as unknown as CallQueue), sent, characters: count * data.length }
}

describe('BlockLogs', () => {
  it('requests the logs of 100 blocks once each', async () => {
    const { logs, sent } = asked(300, 32)
    for (const number of [...Array(100).keys(), ...Array(100).keys()]) await logs.of(header(number))
    expect(sent).toHaveLength(100)
  })

  it('keeps fewer than 30 million characters of logs', async () => {
    const { logs, sent, characters } = asked(4, 1_000_000)
    for (let number = 0; number < 40; number += 1) await logs.of(header(number))
    expect((await logs.of(header(39))).length).toBe(4)
    expect(sent).toHaveLength(40)
    for (let number = 39; number >= 0; number -= 1) await logs.of(header(number))
    const kept = 80 - sent.length
    expect(kept * characters).toBeLessThan(30_000_000)
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import type { CallQueue, UpstreamCall } from '@upfront/node'
import type { BlockHeader } from '@upfront/protocol'
import { NodeHead } from './node-head.js'

const headerOf = (number: bigint) => ({ number, hash: `0x${number.toString(16).padStart(64, '0')}` }) as BlockHeader

describe('AskedHead', () => {
  it('confirms a head below the followed one with three more requests, once', async () => {
    let [latest, asked] = [headerOf(12n), 0]
    const send = async (_: UpstreamCall<BlockHeader>) => {
      asked += 1
      return { value: latest }
    }
    const followed = { newestNumber: 12n, noteNodeHead: () => undefined }
    const head = new NodeHead({ label: 'node' }, { send } as unknown as CallQueue, followed)
    const ask = async () => {
      // Longer than an answer is shared.
      await sleep(10)
      asked = 0
      const { number } = await head.get()
      return [number, asked]
    }
    expect(await ask()).toEqual([12n, 1])
    latest = headerOf(9n)
    expect(await ask()).toEqual([9n, 4])
    expect(await ask()).toEqual([9n, 1])
    expect(await ask()).toEqual([9n, 1])
    latest = headerOf(10n)
    expect(await ask()).toEqual([10n, 4])
    followed.newestNumber = 13n
    expect(await ask()).toEqual([10n, 4])
    latest = headerOf(13n)
    expect(await ask()).toEqual([13n, 1])
    latest = headerOf(10n)
    expect(await ask()).toEqual([10n, 4])
  })
})

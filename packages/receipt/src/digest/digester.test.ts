import { setImmediate } from 'node:timers/promises'
import { gasByCall } from '../bill/gas.js'
import { jsonHash } from '../json-hash.js'
import { previewOf } from '../preview/preview.js'
import { Digester } from './digester.js'

function blocksWith(logs: number) {
  const log = { address: `0x${'ab'.repeat(20)}`, topics: [`0x${'12'.repeat(32)}`], data: `0x${'78'.repeat(32)}` }
  return [
    {
      calls: [
        {
          gasUsed: '0x5208',
          trace: {},
          assetChanges: { balances: [], owners: [] },
          logs: Array.from({ length: logs }, () => log),
        },
        { gasUsed: '0x1', logs: [] },
      ],
    },
  ]
}
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))

describe('Digester', () => {
  const digester = new Digester()
  afterAll(() => digester.close())

  it.each([
    ['a short answer', 1],
    ['a long one', 5_000],
  ])('returns the hash and gas of %s', async (_, logs) => {
    const blocks = blocksWith(logs)
    const gas = gasByCall(blocks as never)
    expect(await digester.digest('result', bytes(blocks))).toEqual({ hash: jsonHash(blocks), gas })
    expect(await digester.digest('value', bytes(blocks))).toEqual({ hash: jsonHash(blocks), gas: [] })
  })

  it.each([1, 5_000])('returns the preview of a call with %d logs, and its hash', async (logs) => {
    const block = { number: '0x2', parentHash: `0x${'01'.repeat(32)}`, timestamp: '0x3' }
    const blocks = blocksWith(logs).map((simulated) => ({ ...simulated, ...block }))
    const on = { state: 'canonical', flashblock: 0 } as const
    const expected = previewOf(blocks as never, on)
    const { hash, gas, preview } = await digester.digest({ preview: on }, bytes(blocks))
    expect([hash, gas]).toEqual([jsonHash(JSON.parse(preview!)), ['21000', '1']])
    expect(preview).toBe(JSON.stringify(expected))
  })

  it('does not block the event loop while it digests a long answer', async () => {
    const long = bytes(blocksWith(5_000))
    let isDone = false
    const digested = digester.digest('result', long).finally(() => {
      isDone = true
    })
    let turns = 0
    for (; !isDone && turns < 10; turns++) await setImmediate()
    expect(turns).toBe(10)
    await digested
  })

  it('rejects invalid JSON, and still digests the next answer', async () => {
    const broken = Buffer.from(`[${'1,'.repeat(100_000)}`)
    const [failed, digested] = await Promise.allSettled([
      digester.digest('result', broken),
      digester.digest('value', bytes(blocksWith(5_000))),
    ])
    expect(failed).toMatchObject({
      status: 'rejected',
      reason: expect.objectContaining({ message: expect.stringMatching(/JSON/) }),
    })
    expect(digested.status).toBe('fulfilled')
  })

  it('starts another thread after it was closed', async () => {
    await digester.close()
    expect((await digester.digest('value', bytes(blocksWith(5_000)))).hash).toMatch(/^0x/)
  })
})

import type { BlockParameter, JsonText } from '@upfront/protocol'
import type { RpcContext } from '../requests/rpc-method.js'
import { logMethods } from './log-methods.js'
import type { Reading } from './reading.js'

const BLOCKS = 64
const DATA = `0x${'00'.repeat(500)}`
const EVERY_BIT = `0x${'ff'.repeat(256)}`

const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
const headerOf = (number: number) => ({
  number: BigInt(number),
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  logsBloom: EVERY_BIT,
})

/** `eth_getLogs` over kept blocks that have a log each. @returns the numbers of the blocks whose logs were read */
async function logsOfAll(answerBytes: number): Promise<{ read: number[]; answer: Promise<JsonText> }> {
  const read: number[] = []
  const reading = {
    preconfirmed: { snapshotFor: () => undefined },
    bases: {
      snapshotFor: () => undefined,
      noteBase: () => undefined,
      held: async (block: BlockParameter) => ({ header: headerOf(Number((block as { number: bigint }).number)) }),
    },
    chain: {
      head: { header: (hash: string) => headerOf(Number(hash)) },
      logs: {
        of: async ({ number }: { number: bigint }) => {
          read.push(Number(number))
          const fields = {
            address: `0x${'11'.repeat(20)}`,
            topics: [],
            data: DATA,
            blockNumber: `0x${number.toString(16)}`,
          }
          return [{ ...fields, json: JSON.stringify(fields) }]
        },
      },
    },
  }
  const passed = new Map([['eth_getLogs', () => Promise.reject(new Error('the node was asked'))]])
  const method = logMethods(reading as unknown as Reading, passed).get('eth_getLogs')!
  const context = { view: {}, limits: { answerBytes } } as unknown as RpcContext
  const answer = Promise.resolve(method([{ fromBlock: '0x1', toBlock: `0x${BLOCKS.toString(16)}` }], context))
  await answer.catch(() => undefined)
  return { read, answer: answer as Promise<JsonText> }
}

describe('eth_getLogs over kept blocks', () => {
  it('returns the logs of all of them in order', async () => {
    const { answer } = await logsOfAll(2 ** 20)
    const numbers = JSON.parse(String(await answer)).map(({ blockNumber }: { blockNumber: string }) =>
      Number(blockNumber),
    )
    expect(numbers).toEqual(Array.from({ length: BLOCKS }, (_, index) => index + 1))
  })

  it('reads no further blocks once the answer is too long', async () => {
    const { read, answer } = await logsOfAll(3_000)
    await expect(answer).rejects.toThrow('the logs take more than 3000 bytes: ask for fewer blocks')
    expect(read.length).toBeLessThan(BLOCKS / 2)
  })
})

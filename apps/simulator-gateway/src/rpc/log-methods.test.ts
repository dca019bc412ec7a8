import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BlockParameter, JsonText } from '@upfront/protocol'
import type { RpcContext } from '../requests/rpc-method.js'
import { logMethods } from './log-methods.js'
import type { Reading } from './reading.js'

const BLOCKS = 64
const DATA = `0x${'00'.repeat(500)}`
const EVERY_BIT = `0x${'ff'.repeat(256)}`

const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
const headerOf = (number: number, gasUsed = 125_000_000n) => ({
  ...{ number: BigInt(number), gasUsed },
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  logsBloom: EVERY_BIT,
})

/**
 * `eth_getLogs` over kept blocks that have a log each.
 * @returns the numbers of the blocks whose logs were read, and how many in each turn
 */
async function logsOfAll(answerBytes: number, gasUsed?: bigint) {
  const read: number[] = []
  const batches: number[] = []
  let turn: NodeJS.Immediate | undefined
  const reading = {
    preconfirmed: { snapshotFor: () => undefined },
    bases: {
      snapshotFor: () => undefined,
      noteBase: () => undefined,
      held: async (block: BlockParameter) => ({
        header: headerOf(Number((block as { number: bigint }).number), gasUsed),
      }),
    },
    chain: {
      head: { header: (hash: string) => headerOf(Number(hash), gasUsed) },
      logs: {
        of: async ({ number }: { number: bigint }) => {
          if (turn === undefined) {
            batches.push(0)
            turn = setImmediate(() => {
              turn = undefined
            })
          }
          batches[batches.length - 1]! += 1
          read.push(Number(number))
          await nextTurn()
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
  return { read, batches, answer: answer as Promise<JsonText> }
}

describe('eth_getLogs over kept blocks', () => {
  it('returns the logs of all of them in order', async () => {
    const { answer } = await logsOfAll(2 ** 20)
    const numbers = JSON.parse(String(await answer)).map(({ blockNumber }: { blockNumber: string }) =>
      Number(blockNumber),
    )
    expect(numbers).toEqual(Array.from({ length: BLOCKS }, (_, index) => index + 1))
  })

  it('reads them in one batch, or in several if they may be long', async () => {
    expect((await logsOfAll(2 ** 20, 15_000_000n)).batches).toEqual([BLOCKS])
    expect((await logsOfAll(2 ** 20)).batches).toEqual(Array(8).fill(8))
    expect((await logsOfAll(2 ** 20, 2_000_000_000n)).batches).toEqual(Array(BLOCKS).fill(1))
  })

  it('reads no further blocks once the answer is too long', async () => {
    const { read, answer } = await logsOfAll(3_000)
    await expect(answer).rejects.toThrow('the logs take more than 3000 bytes: ask for fewer blocks')
    expect(read.length).toBeLessThan(BLOCKS / 2)
  })
})

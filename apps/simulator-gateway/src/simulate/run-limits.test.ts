import { ErrorCode, RpcError } from '@upfront/protocol'
import { AnswerTooLong, CallsRan } from '@upfront/simulation'
import type { Cost } from '../limits/free-budget.js'
import { ClientGone, Overloaded } from '../limits/refused.js'
import {
  countRefusedRun,
  countSpending,
  ExecutionTimeout,
  MaximumSpent,
  runInRecordTurn,
  runWithGrowingLimit,
  SMALL_ANSWER_BYTES,
  type WorkCost,
} from './run-limits.js'

const KIB = 1_024
// More gas than can be used in the time that a test takes.
const GAS = 50_000_000_000n

async function spentOn(error: Error, took?: WorkCost): Promise<Cost | undefined> {
  const spent: Cost[] = []
  const context = { spendInVain: (cost: Cost) => void spent.push(cost) }
  const work = async (taken: WorkCost) => {
    Object.assign(taken, took)
    throw error
  }
  await expect(countSpending({ gas: GAS }, context, work)).rejects.toBe(error)
  return spent[0]
}

describe('spending', () => {
  it('counts the full gas limit if the run exceeded a limit of its own', async () => {
    const error = new RpcError(ErrorCode.limitExceeded, 'the request took longer than 1 ms')
    expect((await spentOn(error))?.gasUsed).toBe(GAS)
  })

  it.each([new Overloaded('memory is short'), new ClientGone(), new ExecutionTimeout()])(
    'counts what is possible in its time if the run was ended from outside: $message',
    async (error) => {
      const { gasUsed } = (await spentOn(error)) as { gasUsed: bigint }
      expect(gasUsed > 0n && gasUsed < GAS).toBe(true)
    },
  )

  it('adds the runs before the one that was ended', async () => {
    const took = { gasUsed: 30n * GAS }
    expect((await spentOn(new RpcError(ErrorCode.limitExceeded, 'too long'), took))?.gasUsed).toBe(31n * GAS)
    expect((await spentOn(new Overloaded('memory is short'), took))?.gasUsed).toBeGreaterThan(30n * GAS)
  })

  it('counts a refused run by time, once, if earlier calls ran and the request continues', async () => {
    const spent: Cost[] = []
    const context = { spend: (cost: Cost) => void spent.push(cost), spendInVain: (cost: Cost) => void spent.push(cost) }
    const error = Object.assign(new RpcError(ErrorCode.nonceTooHigh, 'nonce too high'), { cause: new CallsRan() })
    const refused = async () => {
      throw error
    }
    await countSpending({ gas: GAS }, context, async () => {
      await expect(countRefusedRun({ gas: GAS }, context, refused)).rejects.toBe(error)
    })
    expect(spent).toEqual([{ gasUsed: expect.anything() }, { gasUsed: 0n, reads: 0 }])
    const [{ gasUsed }] = spent as [{ gasUsed: bigint }]
    expect(gasUsed > 0n && gasUsed <= GAS).toBe(true)
    expect((await spentOn(error))?.gasUsed).toBe(0n)
  })

  it('counts only completed runs if the payer’s maximum is spent', async () => {
    const took = { gasUsed: 7n * GAS }
    expect((await spentOn(new MaximumSpent(7n * GAS, 6n * GAS), took))?.gasUsed).toBe(7n * GAS)
  })

  it('counts the gas and reads that a failed call used until it failed', async () => {
    const error = new RpcError(ErrorCode.invalidParams, 'to: expected an address')
    expect(await spentOn(error)).toEqual({ gasUsed: 0n, reads: 0 })
    expect(await spentOn(error, { gasUsed: 21_000n, budget: { used: 3 } })).toEqual({ gasUsed: 21_000n, reads: 3 })
  })

  it('counts a successful run once, synchronously if the work is synchronous', () => {
    const spent: Cost[] = []
    const context = { spend: (cost: Cost) => void spent.push(cost) }
    const done = countSpending({ gas: GAS }, context, (taken) => {
      taken.gasUsed += 42_000n
      return 'done'
    })
    expect(done).toBe('done')
    expect(spent).toEqual([{ gasUsed: 42_000n, reads: 0 }])
  })
})

/** Work with an answer of `bytes` that records the limits tried and the bytes reserved for it. */
function answerOf(bytes: number) {
  const tried: number[] = []
  const reserved: number[] = []
  const work = (most: number) => {
    tried.push(most / KIB)
    if (bytes > most) throw new AnswerTooLong(most)
    return bytes
  }
  return { tried, reserved, work, context: { reserve: (bytes: number) => void reserved.push(bytes / KIB) } }
}

describe('growing', () => {
  it('makes a small answer in one run without reserving memory', () => {
    const { tried, reserved, work, context } = answerOf(200 * KIB)
    expect(runWithGrowingLimit({ answerBytes: 16_384 * KIB }, context, work)).toBe(200 * KIB)
    expect({ tried, reserved }).toEqual({ tried: [256], reserved: [] })
  })

  it('makes an answer of the expected length in one run, with memory reserved', () => {
    const { tried, reserved, work, context } = answerOf(900 * KIB)
    expect(runWithGrowingLimit({ answerBytes: 16_384 * KIB }, context, work, 1_000 * KIB)).toBe(900 * KIB)
    expect({ tried, reserved }).toEqual({ tried: [1_000], reserved: [3_000] })
  })

  it('runs again with more memory if the answer is longer, up to the limit', () => {
    const { tried, reserved, work, context } = answerOf(900 * KIB)
    expect(runWithGrowingLimit({ answerBytes: 1_024 * KIB }, context, work)).toBe(900 * KIB)
    expect({ tried, reserved }).toEqual({ tried: [256, 1_024], reserved: [3_072] })
    expect(() => runWithGrowingLimit({ answerBytes: 512 * KIB }, context, work, 1_000 * KIB)).toThrow(AnswerTooLong)
  })
})

describe('takingTurns', () => {
  it('releases the recording turns of parallel work, even if the work fails', async () => {
    const held: number[] = []
    const record = async (answerBytes: number) => {
      held.push(answerBytes)
      return () => void held.splice(held.indexOf(answerBytes), 1)
    }
    const long = 2 * SMALL_ANSWER_BYTES
    const work = runInRecordTurn({ record }, async ({ take }) => {
      await Promise.all([take(SMALL_ANSWER_BYTES), take(long), take(2 * long), take(long)])
      expect(held).toEqual([2 * long])
      throw new Error('the work failed')
    })
    await expect(work).rejects.toThrow('the work failed')
    expect(held).toEqual([])
  })
})

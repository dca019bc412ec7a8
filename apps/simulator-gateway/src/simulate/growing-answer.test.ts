import { AnswerTooLong } from '@upfront/simulation'
import { runInRecordTurn, runWithGrowingLimit, SMALL_ANSWER_BYTES } from './growing-answer.js'

const KIB = 1_024

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

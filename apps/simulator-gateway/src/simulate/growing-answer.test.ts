import { AnswerTooLong } from '@upfront/simulation'
import { growing, SMALL_ANSWER_BYTES, takingTurns } from './growing-answer.js'

const KIB = 1_024

/** Work with an answer of `bytes`, recording the limits tried and the bytes reserved for it. */
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

describe('an answer that grows', () => {
  it('is made once where it is small, without memory of its own', () => {
    const { tried, reserved, work, context } = answerOf(200 * KIB)
    expect(growing({ answerBytes: 16_384 * KIB }, context, work)).toBe(200 * KIB)
    expect({ tried, reserved }).toEqual({ tried: [256], reserved: [] })
  })

  it('is made once where it is as long as expected, with memory for it', () => {
    const { tried, reserved, work, context } = answerOf(900 * KIB)
    expect(growing({ answerBytes: 16_384 * KIB }, context, work, 1_000 * KIB)).toBe(900 * KIB)
    expect({ tried, reserved }).toEqual({ tried: [1_000], reserved: [3_000] })
  })

  it('is made again with more memory where it is longer, up to the limit', () => {
    const { tried, reserved, work, context } = answerOf(900 * KIB)
    expect(growing({ answerBytes: 1_024 * KIB }, context, work)).toBe(900 * KIB)
    expect({ tried, reserved }).toEqual({ tried: [256, 1_024], reserved: [3_072] })
    expect(() => growing({ answerBytes: 512 * KIB }, context, work, 1_000 * KIB)).toThrow(AnswerTooLong)
  })
})

describe('takingTurns', () => {
  it('ends each turn that runs side by side took, also where the work fails', async () => {
    const held: number[] = []
    const record = async (answerBytes: number) => {
      held.push(answerBytes)
      return () => void held.splice(held.indexOf(answerBytes), 1)
    }
    const long = 2 * SMALL_ANSWER_BYTES
    const work = takingTurns({ record }, async ({ take }) => {
      await Promise.all([take(SMALL_ANSWER_BYTES), take(long), take(2 * long), take(long)])
      expect(held).toEqual([2 * long])
      throw new Error('the work failed')
    })
    await expect(work).rejects.toThrow('the work failed')
    expect(held).toEqual([])
  })
})

import { deadline, met } from './deadline.js'

const { jest } = import.meta

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

describe('deadline', () => {
  it('is noticed once, in order or not, and not at all once it is met', () => {
    const passed: string[] = []
    const now = performance.now()
    deadline(now + 60, () => passed.push('late'))
    deadline(now - 1, () => passed.push('passed before'))
    const inTime = deadline(now + 60, () => passed.push('met'))
    const far = deadline(now + 3_600_000, () => passed.push('far'))
    met(inTime)
    expect(passed).toEqual([])
    jest.advanceTimersByTime(50)
    expect(passed).toEqual(['passed before'])
    jest.advanceTimersByTime(1_000)
    expect(passed).toEqual(['passed before', 'late'])
    met(far)
    jest.advanceTimersByTime(50)
    expect(jest.getTimerCount()).toBe(0)
  })

  it('is noticed again after a time without any', () => {
    const passed = jest.fn()
    deadline(performance.now(), passed)
    jest.advanceTimersByTime(500)
    deadline(performance.now(), passed)
    jest.advanceTimersByTime(500)
    expect(passed).toHaveBeenCalledTimes(2)
  })
})

import { cacheFor } from './cache-for.js'

const { jest } = import.meta

describe('aged', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  it('shares one read among concurrent callers, and reads again once the value is too old', async () => {
    let asked = 0
    const read = cacheFor(1_000, async () => ++asked)
    expect(await Promise.all([read(), read()])).toEqual([1, 1])
    jest.setSystemTime(Date.now() + 1_000)
    expect(await read()).toBe(1)
    jest.setSystemTime(Date.now() + 1)
    expect(await read()).toBe(2)
  })

  it('reads again after a failed read', async () => {
    let asked = 0
    const read = cacheFor(1_000, async () => {
      asked += 1
      if (asked === 1) throw new Error('no answer')
      return asked
    })
    await expect(read()).rejects.toThrow('no answer')
    expect(await read()).toBe(2)
  })
})

import { aged } from './aged.js'

const { jest } = import.meta

describe('what is asked for again once it is old', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  it('is asked for once by all who ask meanwhile, and anew when it is older', async () => {
    let asked = 0
    const read = aged(1_000, async () => ++asked)
    expect(await Promise.all([read(), read()])).toEqual([1, 1])
    jest.setSystemTime(Date.now() + 1_000)
    expect(await read()).toBe(1)
    jest.setSystemTime(Date.now() + 1)
    expect(await read()).toBe(2)
  })

  it('is asked for anew where it failed', async () => {
    let asked = 0
    const read = aged(1_000, async () => {
      asked += 1
      if (asked === 1) throw new Error('no answer')
      return asked
    })
    await expect(read()).rejects.toThrow('no answer')
    expect(await read()).toBe(2)
  })
})

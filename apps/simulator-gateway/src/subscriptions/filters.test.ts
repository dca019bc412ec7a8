import { Filters } from './filters.js'

const { jest } = import.meta
const BIG = 'x'.repeat(600 * 1024)

function source() {
  const made: { note: (...changes: string[]) => void; end: () => void; left: number } = {
    note: () => undefined,
    end: () => undefined,
    left: 0,
  }
  return {
    made,
    begin: async (note: (...changes: string[]) => void, ended: () => void) => {
      made.note = note
      made.end = ended
      return () => {
        made.left += 1
      }
    },
  }
}

describe('Filters', () => {
  it('returns each change once, and an error for an ended or unknown filter', async () => {
    const filters = new Filters()
    const { made, begin } = source()
    const id = await filters.make('a', begin)
    made.note('1', '2')
    expect([filters.changes(id), filters.changes(id)]).toEqual(['[1,2]', '[]'])
    expect([filters.end(id), filters.end(id), made.left]).toEqual([true, false, 1])
    for (const unknown of [id, undefined, 5, '__proto__'])
      expect(() => filters.changes(unknown as string)).toThrow('filter not found')
  })

  it('removes a filter that is not polled for five minutes', async () => {
    jest.useFakeTimers()
    try {
      const filters = new Filters()
      const { made, begin } = source()
      const id = await filters.make('a', begin, {})
      const idle = await filters.make('a', begin)
      for (let minutes = 0; minutes < 8; minutes += 4) {
        jest.advanceTimersByTime(240_000)
        expect(filters.changes(id)).toBe('[]')
      }
      expect(made.left).toBe(1)
      expect(() => filters.changes(idle)).toThrow('filter not found')
      jest.advanceTimersByTime(300_000)
      expect(() => filters.logs(id)).toThrow('filter not found')
    } finally {
      jest.useRealTimers()
    }
  })

  it('drops a filter if it holds too many changes or its source has a gap', async () => {
    const filters = new Filters()
    const { made, begin } = source()
    const full = await filters.make('a', begin)
    made.note(BIG, BIG)
    expect(() => filters.changes(full)).toThrow('filter not found')
    const broken = await filters.make('a', begin)
    made.end()
    expect(() => filters.changes(broken)).toThrow('filter not found')
    expect(made.left).toBe(2)
  })

  it('allows 64 filters per client', async () => {
    const filters = new Filters()
    const { begin } = source()
    const ids = await Promise.all(Array.from({ length: 64 }, () => filters.make('a', begin)))
    await expect(filters.make('a', begin)).rejects.toThrow('64 filters')
    await filters.make('b', begin)
    filters.end(ids[0] as string)
    await filters.make('a', begin)
  })

  it('allows an IPv6 /48 four times as many filters as one client, and limits the total', async () => {
    const filters = new Filters()
    const { begin } = source()
    const make = (client: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => filters.make(client, begin)))
    for (const host of [1, 2, 3]) await make(`8193:3512:1:${host}`, 64)
    const [id] = await make('8193:3512:1:4', 64)
    await expect(filters.make('8193:3512:1:5', begin)).rejects.toThrow('256 filters')
    filters.end(id!)
    await make('8193:3512:1:5', 1)
    await make('8193:3512:2:5', 1)
    for (let client = 0; client < 60; client += 1) await make(`192.0.2.${client}`, 63)
    await make('198.51.100.1', 59)
    await expect(filters.make('198.51.100.2', begin)).rejects.toThrow('this server keeps at most')
  })

  it('does not count a filter whose creation failed', async () => {
    const filters = new Filters()
    for (let n = 0; n < 70; n += 1)
      await expect(filters.make('a', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  })
})

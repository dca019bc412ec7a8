import { Canceller } from './cancellation.js'
import { EventLoopTurn, runInSlices } from './event-loop-turns.js'

describe('runInSlices', () => {
  it('runs one part of all work per turn of the event loop', async () => {
    let turns = 0
    let isOver = false
    const turn = () => {
      turns += 1
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    const seen = new Map<number, Set<string>>()
    const see = (name: string) => seen.set(turns, (seen.get(turns) ?? new Set()).add(name))
    function* parts(name: string): Generator<void, string> {
      for (let part = 0; part < 3; part += 1) {
        if (part > 0) yield
        see(name)
      }
      return name
    }
    const passing = async (name: string) => {
      const turn = new EventLoopTurn()
      for (let part = 0; part < 3; part += 1) {
        await turn.yieldNow()
        see(name)
      }
      return name
    }
    const cancellation = new Canceller()
    const work = ['a', 'b', 'c'].map((name) => runInSlices(parts(name), cancellation))
    await expect(Promise.all([...work, passing('d'), passing('e')])).resolves.toEqual(['a', 'b', 'c', 'd', 'e'])
    isOver = true
    expect([...seen.values()].filter((names) => names.size > 1)).toEqual([])
    expect(seen.size).toBeGreaterThanOrEqual(9)
  })

  it('ends the turn after each part that takes long', async () => {
    let turns = 0
    setImmediate(function turn() {
      turns += 1
      if (turns < 100) setImmediate(turn)
    })
    const seen: number[] = []
    function* parts(): Generator<void, void> {
      for (let part = 0; part < 3; part += 1) {
        if (part > 0) yield
        seen.push(turns)
        for (const since = performance.now(); performance.now() - since < 3; );
      }
    }
    await runInSlices(parts(), new Canceller())
    expect(new Set(seen).size).toBe(3)
  })

  it('rejects with the error of the work, and with the signal’s reason', async () => {
    const canceller = new Canceller()
    let parts = 0
    function* work(): Generator<void> {
      for (;;) {
        parts += 1
        if (parts === 2) canceller.cancel(new Error('no more'))
        yield
      }
    }
    await expect(runInSlices(work(), canceller)).rejects.toThrow('no more')
    expect(parts).toBe(2)
    // biome-ignore lint/correctness/useYield: it fails at once
    function* wrong(): Generator<void> {
      throw new Error('wrong')
    }
    await expect(runInSlices(wrong(), new Canceller())).rejects.toThrow('wrong')
  })
})

import { LargeBodies } from './large-bodies.js'

describe('LargeBodies', () => {
  it('lets the event loop turn between any two steps', async () => {
    const large = new LargeBodies()
    let turns = 0
    let isOver = false
    const turn = () => {
      turns += 1
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    const seen: number[] = []
    const body = async () => {
      for (let step = 0; step < 3; step += 1) {
        await large.step()
        seen.push(turns)
      }
    }
    await Promise.all([body(), body(), body()])
    isOver = true
    expect(large.steps).toBe(9)
    expect(new Set(seen).size).toBe(9)
  })
})

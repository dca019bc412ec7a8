import { setTimeout as sleep } from 'node:timers/promises'
import { deadline, met } from './deadline.js'

describe('deadline', () => {
  it('is noticed once, in order or not, and not at all once it is met', async () => {
    const passed: string[] = []
    const now = performance.now()
    deadline(now + 60, () => passed.push('late'))
    deadline(now - 1, () => passed.push('gone by'))
    const inTime = deadline(now + 60, () => passed.push('met'))
    const far = deadline(now + 3_600_000, () => passed.push('far'))
    met(inTime)
    expect(passed).toEqual([])
    await sleep(400)
    met(far)
    expect(passed).toEqual(['gone by', 'late'])
  })

  it('is noticed again after a time without any', async () => {
    await sleep(150)
    await new Promise<void>((resolve) => deadline(performance.now(), resolve))
  })
})

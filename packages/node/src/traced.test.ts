import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { TRACED_WORK, type TracedWork, traced } from './traced.js'

it('traced() runs the work, and lets a subscriber wrap it', async () => {
  expect(traced('plan', () => 1)).toBe(1)
  const seen: string[] = []
  const wrap = (message: unknown) => {
    const work = message as TracedWork
    const { run } = work
    work.run = () => {
      seen.push(`${work.name} ${work.follows}`)
      return run()
    }
  }
  subscribe(TRACED_WORK, wrap)
  expect(traced('plan', () => 2)).toBe(2)
  await expect(traced('settle', async () => 3, { follows: 'one' })).resolves.toBe(3)
  expect(() =>
    traced('read', () => {
      throw new Error('lost')
    }),
  ).toThrow('lost')
  unsubscribe(TRACED_WORK, wrap)
  expect(traced('plan', () => 4)).toBe(4)
  expect(seen).toEqual(['plan undefined', 'settle one', 'read undefined'])
})

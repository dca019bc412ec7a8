import { SharedTurns } from './shared-turns.js'

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

it('batches calls made during a turn into the next one, per key, in order, at most 2 per turn', async () => {
  const { opened, open } = gate()
  const runs: number[][] = []
  const turns = new SharedTurns<number, number>(2, async (inputs) => {
    runs.push([...inputs])
    await opened
    return inputs.map((input) => input * 10)
  })
  const calls = [1, 2, 3, 4].map((input) => turns.call('a', input))
  calls.push(turns.call('b', 5))
  open()
  expect(await Promise.all(calls)).toEqual([10, 20, 30, 40, 50])
  expect(runs).toEqual([[1], [5], [2, 3], [4]])
})

it('runs each call of a failed turn alone, so that only the faulty one fails', async () => {
  const turns = new SharedTurns<number, number>(9, async (inputs) => {
    if (inputs.includes(3)) throw new Error('three')
    return inputs
  })
  const results = await Promise.allSettled([1, 2, 3, 4].map((input) => turns.call('a', input)))
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
})

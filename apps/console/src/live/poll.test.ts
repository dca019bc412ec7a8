import { poll } from './poll.js'

const { jest } = import.meta

beforeEach(() => void jest.useFakeTimers())
afterEach(() => {
  jest.useRealTimers()
  jest.restoreAllMocks()
})

describe('poll', () => {
  it('sends one request at a time, continues after invalid JSON, and stops when it is ended', async () => {
    let answer: (response: Response) => void = () => undefined
    const fetched = jest.spyOn(globalThis, 'fetch').mockImplementation(
      () =>
        new Promise<Response>((resolve) => {
          answer = resolve
        }),
    )
    const told: unknown[] = []
    const end = poll(
      '/state',
      2_000,
      (response) => response.json(),
      (state) => told.push(state),
    )
    await jest.advanceTimersByTimeAsync(60_000)
    expect(fetched).toHaveBeenCalledTimes(1)
    answer(new Response('7'))
    await jest.advanceTimersByTimeAsync(2_000)
    expect(told).toEqual([7])
    expect(fetched).toHaveBeenCalledTimes(2)
    answer(new Response('not JSON'))
    await jest.advanceTimersByTimeAsync(2_000)
    expect(fetched).toHaveBeenCalledTimes(3)
    end()
    answer(new Response('8'))
    await jest.advanceTimersByTimeAsync(60_000)
    expect(told).toEqual([7])
    expect(fetched).toHaveBeenCalledTimes(3)
  })
})

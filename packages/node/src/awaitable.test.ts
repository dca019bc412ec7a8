import { andThen, catchError } from './awaitable.js'

const fail = () => {
  throw new Error('no')
}

describe('andThen', () => {
  it('calls the function immediately for a plain value, and after it resolves for a promise', async () => {
    expect(andThen(1, (value) => value + 1)).toBe(2)
    const later = andThen(Promise.resolve(1), (value) => value + 1)
    expect(later).toBeInstanceOf(Promise)
    expect(await later).toBe(2)
  })

  it('throws for a plain value and rejects for a promise if the function throws', async () => {
    expect(() => andThen(1, fail)).toThrow('no')
    await expect(andThen(Promise.resolve(1), fail)).rejects.toThrow('no')
  })
})

describe('catchError', () => {
  it('returns the result unchanged if the work succeeds', async () => {
    expect(catchError(() => 1, fail)).toBe(1)
    expect(await catchError(() => Promise.resolve(1), fail)).toBe(1)
  })

  it('calls the handler with the error that was thrown or rejected, and throws what the handler throws', async () => {
    expect(catchError(fail, () => 2)).toBe(2)
    expect(
      await catchError(
        () => Promise.resolve().then(fail),
        () => 2,
      ),
    ).toBe(2)
    expect(() => catchError(fail, fail)).toThrow('no')
  })
})

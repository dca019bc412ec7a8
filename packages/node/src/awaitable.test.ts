import { andThen, recovered } from './awaitable.js'

const fail = () => {
  throw new Error('no')
}

describe('andThen', () => {
  it('goes on at once with what is there, and later with a promise', async () => {
    expect(andThen(1, (value) => value + 1)).toBe(2)
    const later = andThen(Promise.resolve(1), (value) => value + 1)
    expect(later).toBeInstanceOf(Promise)
    expect(await later).toBe(2)
  })

  it('throws at once or rejects, as the value comes', async () => {
    expect(() => andThen(1, fail)).toThrow('no')
    await expect(andThen(Promise.resolve(1), fail)).rejects.toThrow('no')
  })
})

describe('recovered', () => {
  it('leaves what went well alone', async () => {
    expect(recovered(() => 1, fail)).toBe(1)
    expect(await recovered(() => Promise.resolve(1), fail)).toBe(1)
  })

  it('makes something of what was thrown or rejected with', async () => {
    expect(recovered(fail, () => 2)).toBe(2)
    expect(
      await recovered(
        () => Promise.resolve().then(fail),
        () => 2,
      ),
    ).toBe(2)
    expect(() => recovered(fail, fail)).toThrow('no')
  })
})

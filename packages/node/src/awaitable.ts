/**
 * A value, or a promise of it. What is there at once is handed on at once: a small simulation on cached state takes less
 * time than the promises on its way would.
 */
export type Awaitable<T> = T | Promise<T>

/** What `next` makes of the value: at once where the value is there. What `next` throws is thrown, or rejected with. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** The value that `make` gives, or what `recover` makes of what it throws or rejects with. */
export function recovered<T>(make: () => Awaitable<T>, recover: (thrown: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = make()
    return value instanceof Promise ? value.catch(recover) : value
  } catch (thrown) {
    return recover(thrown)
  }
}

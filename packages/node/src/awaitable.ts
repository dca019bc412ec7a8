/**
 * A value, or a promise of it. A value that is there is passed on at once: a small simulation on cached state takes less time
 * than the promises on its way would.
 */
export type Awaitable<T> = T | Promise<T>

/** Calls `next` with the value, at once where it is there. What `next` throws is thrown, or rejects the promise. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** What `make` returns or, where it throws or rejects, what `recover` makes of that. */
export function recovered<T>(make: () => Awaitable<T>, recover: (thrown: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = make()
    return value instanceof Promise ? value.catch(recover) : value
  } catch (thrown) {
    return recover(thrown)
  }
}

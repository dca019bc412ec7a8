/**
 * A value, or a promise of it. A value that is already there is passed on synchronously: a small
 * simulation on cached state takes less time than promises would.
 */
export type Awaitable<T> = T | Promise<T>

/** Calls `next` with the value, synchronously if it is there. What `next` throws is thrown, or rejects the promise. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Returns the result of `make`. If it throws or rejects, returns what `recover` makes of the error. */
export function catchError<T>(make: () => Awaitable<T>, recover: (thrown: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = make()
    return value instanceof Promise ? value.catch(recover) : value
  } catch (thrown) {
    return recover(thrown)
  }
}

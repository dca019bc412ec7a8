import { setTimeout as sleep } from 'node:timers/promises'

/** Asks again and again until `read` answers what `isDone` wants. The test's own time limit ends one that never does. */
export async function until<T>(read: () => Promise<T>, isDone: (value: T) => boolean = Boolean): Promise<T> {
  for (;;) {
    const value = await read()
    if (isDone(value)) return value
    await sleep(50)
  }
}

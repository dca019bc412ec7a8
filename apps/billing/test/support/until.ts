import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls `read` until `isDone` accepts its value; only the test's own timeout ends it otherwise. `between` runs between two reads,
 * for example to mine a block.
 */
export async function until<T>(
  read: () => Promise<T>,
  isDone: (value: T) => boolean = Boolean,
  between: () => Promise<unknown> = async () => {},
): Promise<T> {
  for (;;) {
    const value = await read()
    if (isDone(value)) return value
    await between()
    await sleep(50)
  }
}

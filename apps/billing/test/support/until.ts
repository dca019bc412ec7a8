import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks again and again until `read` answers what `isDone` wants. The test's own time limit ends one that never does. `between`
 * two looks: such as a further block, where a chain makes none by itself.
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

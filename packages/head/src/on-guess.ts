import { type Awaitable, type Cancellation, Canceller, type CancelSignal } from '@upfront/node'
import type { PinnedBlock } from './pinned-block.js'

type Work<T> = (block: PinnedBlock, cancellation: Cancellation) => Awaitable<T>
type Ended<T> = { value: T } | { thrown: unknown }

/**
 * What the work comes to on the block that was asked for, begun on a guess at it while the answer is on its way. A wrong guess
 * costs the work done on it so far: it is cancelled, and what it came to is dropped, errors too.
 * @param known told of the block once it is certain
 */
export function onGuess<T>(
  guess: PinnedBlock,
  asked: Promise<PinnedBlock>,
  cancellation: Cancellation,
  work: Work<T>,
  known: (block: PinnedBlock) => void,
): Promise<T> {
  const attempt = new Attempt(cancellation)
  const early = begun(() => work(guess, attempt))
  return asked.then(
    (block) => {
      known(block)
      if (block.key === guess.key) return early instanceof Promise ? early.then(outcomeOf) : outcomeOf(early)
      attempt.cancel()
      return work(block, cancellation)
    },
    (thrown) => {
      attempt.cancel()
      throw thrown
    },
  )
}

/** Never rejects: whoever waits for the block may not want it. */
function begun<T>(work: () => Awaitable<T>): Awaitable<Ended<T>> {
  try {
    const value = work()
    if (!(value instanceof Promise)) return { value }
    return value.then(
      (value) => ({ value }),
      (thrown) => ({ thrown }),
    )
  } catch (thrown) {
    return { thrown }
  }
}

function outcomeOf<T>(ended: Ended<T>): T {
  if ('thrown' in ended) throw ended.thrown
  return ended.value
}

/** Aborts when the request's own signal does, or when the guess turns out wrong. Made, like that, only where it is asked for. */
class Attempt implements Cancellation {
  #canceller: Canceller | undefined
  readonly #request: Cancellation

  constructor(request: Cancellation) {
    this.#request = request
  }

  get signal(): CancelSignal {
    return this.#own.signal
  }

  cancel(): void {
    this.#own.cancel(new Error('the head moved on'))
  }

  get #own(): Canceller {
    this.#canceller ??= this.#follow()
    return this.#canceller
  }

  #follow(): Canceller {
    const canceller = new Canceller()
    const { signal } = this.#request
    if (signal.aborted) canceller.cancel(signal.reason)
    else signal.addEventListener('abort', () => canceller.cancel(signal.reason), { once: true })
    return canceller
  }
}

import {
  type Awaitable,
  andThen,
  type Cancellation,
  Canceller,
  type CancelSignal,
  onAbort,
  recovered,
} from '@upfront/node'
import type { PinnedBlock } from '@upfront/simulation'

type Work<T> = (block: PinnedBlock, cancellation: Cancellation) => Awaitable<T>
type Ended<T> = { value: T } | { thrown: unknown }

/**
 * Does the work on the block that was asked for, and begins it on a guess at that block while the answer is on its way. Where
 * the guess is wrong, the work on it is cancelled, its outcome is dropped, errors too, and the work is done again.
 * @param known called with the block once it is certain
 */
export function onGuess<T>(
  guess: PinnedBlock,
  asked: Promise<PinnedBlock>,
  cancellation: Cancellation,
  work: Work<T>,
  known: (block: PinnedBlock) => void,
): Promise<T> {
  const guessed = new Guessed(cancellation)
  const early = begun(
    () => work(guess, guessed),
    () => guessed.end(),
  )
  return asked.then(
    (block) => {
      known(block)
      if (block.key === guess.key) return early instanceof Promise ? early.then(outcomeOf) : outcomeOf(early)
      guessed.cancel()
      return work(block, cancellation)
    },
    (thrown) => {
      guessed.cancel()
      throw thrown
    },
  )
}

/** Never rejects: its outcome may not be wanted. */
function begun<T>(work: () => Awaitable<T>, end: () => void): Awaitable<Ended<T>> {
  const outcome = recovered<Ended<T>>(
    () => andThen(work(), (value) => ({ value })),
    (thrown) => ({ thrown }),
  )
  if (outcome instanceof Promise) return outcome.finally(end)
  end()
  return outcome
}

function outcomeOf<T>(ended: Ended<T>): T {
  if ('thrown' in ended) throw ended.thrown
  return ended.value
}

/** Aborts when the request's own signal does, or when the guess turns out wrong. The signal is made when it is first asked for. */
class Guessed implements Cancellation {
  #canceller: Canceller | undefined
  #takeOff: () => void = () => {}
  readonly #request: Cancellation

  constructor(request: Cancellation) {
    this.#request = request
  }

  get signal(): CancelSignal {
    return this.#own.signal
  }

  cancel(): void {
    this.#own.cancel(new Error('the head moved on'))
    this.end()
  }

  /** The work is over: the request's signal no longer reaches it. */
  end(): void {
    this.#takeOff()
  }

  get #own(): Canceller {
    if (this.#canceller === undefined) {
      const canceller = new Canceller()
      const { signal } = this.#request
      this.#canceller = canceller
      this.#takeOff = onAbort(signal, () => canceller.cancel(signal.reason))
    }
    return this.#canceller
  }
}

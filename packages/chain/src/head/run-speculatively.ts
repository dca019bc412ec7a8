import {
  type Awaitable,
  andThen,
  type Cancellation,
  Canceller,
  type CancelSignal,
  catchError,
  onAbort,
} from '@upfront/node'
import type { PinnedBlock } from '@upfront/simulation'

type Work<T> = (block: PinnedBlock, cancellation: Cancellation) => Awaitable<T>
type Outcome<T> = { value: T } | { thrown: unknown }

/**
 * Does the work on the requested block, starting on a guess while the answer is on its way. If the guess is wrong, its work is cancelled,
 * its outcome (including errors) is dropped, and the work is repeated on the right block.
 * @param known called with the block once it is certain
 */
export function runSpeculatively<T>(
  guess: PinnedBlock,
  asked: Promise<PinnedBlock>,
  cancellation: Cancellation,
  work: Work<T>,
  known: (block: PinnedBlock) => void,
): Promise<T> {
  const guessed = new SpeculativeCancellation(cancellation)
  const early = captureOutcome(
    () => work(guess, guessed),
    () => guessed.end(),
  )
  return asked.then(
    (block) => {
      known(block)
      if (block.key === guess.key) return early instanceof Promise ? early.then(unwrap) : unwrap(early)
      guessed.cancel()
      return work(block, cancellation)
    },
    (thrown) => {
      guessed.cancel()
      throw thrown
    },
  )
}

/** Never rejects, because the outcome may be dropped. */
function captureOutcome<T>(work: () => Awaitable<T>, end: () => void): Awaitable<Outcome<T>> {
  const outcome = catchError<Outcome<T>>(
    () => andThen(work(), (value) => ({ value })),
    (thrown) => ({ thrown }),
  )
  if (outcome instanceof Promise) return outcome.finally(end)
  end()
  return outcome
}

function unwrap<T>(ended: Outcome<T>): T {
  if ('thrown' in ended) throw ended.thrown
  return ended.value
}

/** Aborts when the request's own signal does, or when the guess is wrong. The signal is created on first use. */
class SpeculativeCancellation implements Cancellation {
  #canceller: Canceller | undefined
  #detach: () => void = () => {}
  readonly #request: Cancellation

  constructor(request: Cancellation) {
    this.#request = request
  }

  get signal(): CancelSignal {
    return this.#ownCanceller.signal
  }

  cancel(): void {
    this.#ownCanceller.cancel(new Error('the head moved on'))
    this.end()
  }

  /** Detaches from the request's signal: the work is done. */
  end(): void {
    this.#detach()
  }

  get #ownCanceller(): Canceller {
    if (this.#canceller === undefined) {
      const canceller = new Canceller()
      const { signal } = this.#request
      this.#canceller = canceller
      this.#detach = onAbort(signal, () => canceller.cancel(signal.reason))
    }
    return this.#canceller
  }
}

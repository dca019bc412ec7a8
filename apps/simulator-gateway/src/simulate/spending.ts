import { type Awaitable, andThen, recovered } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { CallsRan } from '@upfront/simulation'
import type { Cost } from '../limits/free-budget.js'
import { Overloaded } from '../limits/refused.js'

/** What work takes, added up as it goes on. */
export interface Taken {
  gasUsed: bigint
  /** Counts the values that it reads from the node. */
  budget?: { readonly used: number }
}

interface Spending {
  /** Counts what work took, where that is free of charge. */
  spend?(cost: Cost): void
  /** Counts what work took that ended in an error, and so is never charged. */
  spendInVain?(cost: Cost): void
}

/** What was executed took more than the signed maximum pays for. */
export class MaximumSpent extends RpcError {
  override readonly name = 'MaximumSpent'

  /** @param most gas of all runs */
  constructor(gasUsed: bigint, most: bigint) {
    super(
      ErrorCode.limitExceeded,
      `what is asked for took ${gasUsed} gas so far, and the signed maximum pays for ${most}: ask for fewer things of a call, or give it less gas`,
    )
  }
}

/** No engine executes more gas in a millisecond. */
const GAS_PER_MS = 1_000_000

/**
 * Does the work, and counts what it took, whether it succeeds or not. How far the run came that met a limit of its own is not known: it counts
 * as having taken what it may take. Where it was ended because memory was short, which others may have used, it counts as what it can have
 * taken in its time. What runs before it took counts besides.
 */
export function spending<T>(
  { gas }: { gas: bigint },
  context: Spending,
  work: (taken: Taken) => Awaitable<T>,
): Awaitable<T> {
  const startedAt = performance.now()
  const taken: Taken = { gasUsed: 0n }
  const cost = (gasUsed: bigint) => ({ gasUsed, reads: taken.budget?.used ?? 0 })
  const done = recovered(
    () => work(taken),
    (error) => {
      let { gasUsed } = taken
      if (error instanceof Overloaded) gasUsed += possibleSince(startedAt, gas)
      else if (hasMetLimit(error)) gasUsed += gas
      context.spendInVain?.(cost(gasUsed))
      throw error
    },
  )
  return andThen(done, (result) => {
    context.spend?.(cost(taken.gasUsed))
    return result
  })
}

/**
 * Does one run of a simulation. Where calls ran before one that is no valid transaction, it counts as what it can have taken in its time, whether
 * the request fails with it or goes on without it.
 * @param isSpare the request goes on without it whatever it meets
 */
export function countingRefused<T>(
  { gas }: { gas: bigint },
  context: Spending,
  run: () => Awaitable<T>,
  isSpare = false,
): Awaitable<T> {
  const startedAt = performance.now()
  return recovered(run, (error) => {
    if (isSpare || (error instanceof RpcError && error.cause instanceof CallsRan))
      context.spendInVain?.({ gasUsed: possibleSince(startedAt, gas) })
    throw error
  })
}

/** Of its run: where runs before it took all that there was, it did not begin. */
function hasMetLimit(error: unknown): boolean {
  return error instanceof RpcError && error.code === ErrorCode.limitExceeded && !(error instanceof MaximumSpent)
}

function possibleSince(startedAt: number, most: bigint): bigint {
  const possible = BigInt(Math.ceil(performance.now() - startedAt) * GAS_PER_MS)
  return possible < most ? possible : most
}

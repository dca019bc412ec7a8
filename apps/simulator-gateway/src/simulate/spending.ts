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

/** No engine executes more gas in a millisecond. */
const GAS_PER_MS = 1_000_000

/**
 * Does the work, and counts what it took, whether it succeeds or not. How far it came where it met a limit of its own is not known: it counts
 * as having taken what it may take. Where it was ended because memory was short, which others may have used, or where calls ran before one
 * that is no valid transaction, it counts as what it can have taken in its time.
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
      const possible = BigInt(Math.ceil(performance.now() - startedAt) * GAS_PER_MS)
      let gasUsed = taken.gasUsed
      if (error instanceof Overloaded || (error instanceof RpcError && error.cause instanceof CallsRan))
        gasUsed = possible < gas ? possible : gas
      else if (error instanceof RpcError && error.code === ErrorCode.limitExceeded) gasUsed = gas
      context.spendInVain?.(cost(gasUsed))
      throw error
    },
  )
  return andThen(done, (result) => {
    context.spend?.(cost(taken.gasUsed))
    return result
  })
}

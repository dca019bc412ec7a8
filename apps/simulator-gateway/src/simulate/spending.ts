import { type Awaitable, andThen, catchError } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { CallsRan } from '@upfront/simulation'
import type { Cost } from '../limits/free-budget.js'
import { Overloaded } from '../limits/refused.js'

/** The cost of work in progress. */
export interface WorkCost {
  gasUsed: bigint
  /** Counts values read from the node. */
  budget?: { readonly used: number }
}

interface Spending {
  /** Counts work towards the free budget; does nothing if it is paid for. */
  spend?(cost: Cost): void
  /** Counts work that ended in an error and is therefore never charged. */
  spendInVain?(cost: Cost): void
}

/** The runs so far have used more gas than the signed maximum pays for. */
export class MaximumSpent extends RpcError {
  override readonly name = 'MaximumSpent'

  /** @param most gas that the signed maximum pays for, of all runs */
  constructor(gasUsed: bigint, most: bigint) {
    super(
      ErrorCode.limitExceeded,
      `the runs for this request used ${gasUsed} gas so far, and the signed maximum pays for ${most}: request fewer inspections, or give the calls less gas`,
    )
  }
}

/** An upper bound of the engine's speed. */
const GAS_PER_MS = 1_000_000

/**
 * Runs work and counts its cost, whether it succeeds or not. How far a run got that reached a limit is not known, so it counts with its
 * full gas limit. A run cancelled because memory was short, perhaps through no fault of its own, counts with what is possible in its time.
 * Earlier runs are added.
 */
export function countSpending<T>(
  { gas }: { gas: bigint },
  context: Spending,
  work: (taken: WorkCost) => Awaitable<T>,
): Awaitable<T> {
  const startedAt = performance.now()
  const taken: WorkCost = { gasUsed: 0n }
  const cost = (gasUsed: bigint) => ({ gasUsed, reads: taken.budget?.used ?? 0 })
  const done = catchError(
    () => work(taken),
    (error) => {
      let { gasUsed } = taken
      if (error instanceof Overloaded) gasUsed += maxGasSince(startedAt, gas)
      else if (hasReachedLimit(error)) gasUsed += gas
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
 * Does one run of a simulation. If it is rejected because of an invalid transaction after other calls have run, it counts with what is
 * possible in its time, whether or not the request then fails.
 * @param isSpare the request continues without this run, however it fails
 */
export function countRefusedRun<T>(
  { gas }: { gas: bigint },
  context: Spending,
  run: () => Awaitable<T>,
  isSpare = false,
): Awaitable<T> {
  const startedAt = performance.now()
  return catchError(run, (error) => {
    if (isSpare || (error instanceof RpcError && error.cause instanceof CallsRan))
      context.spendInVain?.({ gasUsed: maxGasSince(startedAt, gas) })
    throw error
  })
}

/** Whether a run reached a limit; `MaximumSpent` means that it never started. */
function hasReachedLimit(error: unknown): boolean {
  return error instanceof RpcError && error.code === ErrorCode.limitExceeded && !(error instanceof MaximumSpent)
}

function maxGasSince(startedAt: number, most: bigint): bigint {
  const possible = BigInt(Math.ceil(performance.now() - startedAt) * GAS_PER_MS)
  return possible < most ? possible : most
}

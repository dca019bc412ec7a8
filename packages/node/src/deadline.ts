/** How late a passed deadline may be noticed. */
const STEP_MS = 50

/** A time on `performance.now()`'s clock, and what happens when it has passed. */
export interface Deadline {
  readonly at: number
  readonly passed: () => void
}

const open = new Set<Deadline>()
let ticker: NodeJS.Timeout | undefined

/**
 * Calls `passed` once, at the deadline or up to 50 ms later, unless it is met before. One timer serves all deadlines: nearly
 * all of them are met, and a timer for each would cost more than most of the work that they bound.
 */
export function deadline(at: number, passed: () => void): Deadline {
  const set = { at, passed }
  open.add(set)
  ticker ??= setInterval(look, STEP_MS)
  return set
}

/** The work has ended in time. */
export function met(deadline: Deadline): void {
  open.delete(deadline)
}

function look(): void {
  const now = performance.now()
  for (const deadline of open) {
    if (deadline.at > now) continue
    open.delete(deadline)
    deadline.passed()
  }
  if (open.size > 0) return
  clearInterval(ticker)
  ticker = undefined
}

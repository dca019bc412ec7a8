/** How late it may be noticed that one has passed. */
const STEP_MS = 50

/** Something that is to end by then, `performance.now()`. */
export interface Deadline {
  readonly at: number
  readonly passed: () => void
}

const open = new Set<Deadline>()
let ticker: NodeJS.Timeout | undefined

/**
 * Calls `passed` once, at the deadline or up to 50 ms later, unless it is met. One timer looks after all: nearly every one is
 * met, and a timer for each costs more than most of what it is for.
 */
export function deadline(at: number, passed: () => void): Deadline {
  const set = { at, passed }
  open.add(set)
  ticker ??= setInterval(look, STEP_MS)
  return set
}

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

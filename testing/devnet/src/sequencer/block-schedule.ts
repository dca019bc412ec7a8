/** When a block is sealed, and the time that it carries. */
export interface BlockSlot {
  /** Seconds since 1970. */
  timestamp: bigint
  /** Milliseconds since 1970. */
  sealAt: number
}

/**
 * The next block's time: one block time after its parent's, sealed as the clock gets there. A chain that is ahead of the clock
 * (its contracts were deployed in blocks of their own) seals later, by half a block time at most, until the clock has caught up. One
 * that is behind (the machine slept) goes on at the clock's time.
 * @param parent the parent's time, seconds since 1970
 * @param now milliseconds since 1970
 */
export function nextSlot(parent: bigint, now: number, blockTimeMs: number): BlockSlot {
  const blockTime = BigInt(Math.max(1, Math.round(blockTimeMs / 1_000)))
  const due = parent + blockTime
  const timestamp = Number(due) * 1_000 < now - blockTimeMs ? BigInt(Math.ceil(now / 1_000)) + blockTime : due
  const ahead = Number(timestamp) * 1_000 - (now + blockTimeMs)
  return { timestamp, sealAt: now + blockTimeMs + Math.min(Math.max(ahead, -blockTimeMs / 2), blockTimeMs / 2) }
}

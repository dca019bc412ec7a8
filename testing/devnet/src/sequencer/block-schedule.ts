/** When a block is sealed, and its timestamp. */
export interface BlockSlot {
  /** Unix time in seconds. */
  timestamp: bigint
  /** Unix time in milliseconds. */
  sealAt: number
}

/**
 * The next block's slot: one block time after its parent's timestamp, sealed when the clock gets there. If the chain is ahead of
 * the clock (each contract was deployed in a block of its own), it seals up to half a block time later until the clock catches up.
 * If it is behind (the machine slept), it continues at the clock's time.
 * @param parent the parent's timestamp, Unix time in seconds
 * @param now Unix time in milliseconds
 */
export function nextSlot(parent: bigint, now: number, blockTimeMs: number): BlockSlot {
  const blockTime = BigInt(Math.max(1, Math.round(blockTimeMs / 1_000)))
  const due = parent + blockTime
  const timestamp = Number(due) * 1_000 < now - blockTimeMs ? BigInt(Math.ceil(now / 1_000)) + blockTime : due
  const ahead = Number(timestamp) * 1_000 - (now + blockTimeMs)
  return { timestamp, sealAt: now + blockTimeMs + Math.min(Math.max(ahead, -blockTimeMs / 2), blockTimeMs / 2) }
}

/** When a chain makes its blocks. */
export interface BlockSchedule {
  /** Seconds between blocks that name no time of their own. */
  blockTime: bigint
  /** Set where several blocks share a second from some block on (Base's Denim). */
  subsecond?: SubsecondBlocks
}

/**
 * Base's Denim: from block `number` on a block comes every `milliseconds`, and a header's time is the second it falls in. Before that
 * each block comes `blockTime` after the one before it, without exception.
 * https://docs.base.org/base-chain/specs/upgrades/denim/overview
 */
export interface SubsecondBlocks {
  /** When the fork becomes active, seconds: equal times of neighbouring blocks are allowed from then on. */
  since: bigint
  /** The first block of the fork, and its time in seconds. */
  number: bigint
  timestamp: bigint
  milliseconds: bigint
}

/** The schedule of a chain on which Denim becomes active at `since`, every block before it `blockTime` after the last. */
export function denimSchedule(genesisTime: bigint, since: bigint, blockTime = 2n): BlockSchedule {
  const number = (since - genesisTime + blockTime - 1n) / blockTime
  return {
    blockTime,
    subsecond: { since, number, timestamp: genesisTime + number * blockTime, milliseconds: 200n },
  }
}

/**
 * The time of a block that names none: that of the chain's schedule where it comes after the one before; else, where blocks may share
 * a second, the same again; else one block time later. Seconds.
 */
export function nextTime({ blockTime, subsecond }: BlockSchedule, number: bigint, previous: bigint): bigint {
  if (subsecond === undefined) return previous + blockTime
  const scheduled = scheduledTime(subsecond, blockTime, number)
  if (scheduled > previous) return scheduled
  return previous >= subsecond.since ? previous : previous + blockTime
}

/** Whether a block may have the same time as the one before it. */
export function mayShareSecond({ subsecond }: BlockSchedule, timestamp: bigint): boolean {
  return subsecond !== undefined && timestamp >= subsecond.since
}

function scheduledTime(subsecond: SubsecondBlocks, blockTime: bigint, number: bigint): bigint {
  const after = number - subsecond.number
  return subsecond.timestamp + (after < 0n ? after * blockTime : (after * subsecond.milliseconds) / 1_000n)
}

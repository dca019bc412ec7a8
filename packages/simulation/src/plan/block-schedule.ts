/** When a chain's blocks are due. */
export interface BlockSchedule {
  /** Seconds between blocks without a given time. */
  blockTime: bigint
  /** Set if several blocks share a second from some block on (Base's Denim). */
  subsecond?: SubsecondBlocks
}

/**
 * Base's Denim: from block `number` on, a block is due every `milliseconds`, and its timestamp is rounded down to seconds. Earlier blocks
 * are exactly `blockTime` apart. https://docs.base.org/base-chain/specs/upgrades/denim/overview
 */
export interface SubsecondBlocks {
  /** Activation time in seconds. From then on, consecutive blocks may have equal timestamps. */
  since: bigint
  /** The fork's first block, and its time in seconds. */
  number: bigint
  timestamp: bigint
  milliseconds: bigint
}

/** The schedule of a chain that activates Denim at `since`, with earlier blocks exactly `blockTime` apart. */
export function denimSchedule(genesisTime: bigint, since: bigint, blockTime = 2n): BlockSchedule {
  const number = (since - genesisTime + blockTime - 1n) / blockTime
  return {
    blockTime,
    subsecond: { since, number, timestamp: genesisTime + number * blockTime, milliseconds: 200n },
  }
}

/**
 * Timestamp, in seconds, of a block without a given one: the schedule's, if later than the previous block's; else the previous one if
 * blocks may share a second; else one block time later.
 */
export function nextTime({ blockTime, subsecond }: BlockSchedule, number: bigint, previous: bigint): bigint {
  if (subsecond === undefined) return previous + blockTime
  const scheduled = scheduledTime(subsecond, blockTime, number)
  if (scheduled > previous) return scheduled
  return previous >= subsecond.since ? previous : previous + blockTime
}

/** Whether a block may have its parent's timestamp. */
export function mayShareSecond({ subsecond }: BlockSchedule, timestamp: bigint): boolean {
  return subsecond !== undefined && timestamp >= subsecond.since
}

function scheduledTime(subsecond: SubsecondBlocks, blockTime: bigint, number: bigint): bigint {
  const after = number - subsecond.number
  return subsecond.timestamp + (after < 0n ? after * blockTime : (after * subsecond.milliseconds) / 1_000n)
}

/**
 * Replicas of which one listens for all: it publishes what a node or a stream tells it, and the others take it from there. Only
 * announcements go this way: each replica reads, executes and verifies by itself, so that nothing breaks where two of them lead
 * for a moment.
 */
export interface Relay {
  join(listener: RelayListener): RelayMember
}

export interface RelayListener {
  /** What the leading replica published. */
  onMessage(message: Buffer): void
  /** `leads` or `follows` is another than before. */
  onChange(): void
}

export interface RelayMember {
  /** Whether this replica is to listen by itself: it holds the lease, or the others can't be reached. */
  readonly leads: boolean
  /** Whether what the leading replica publishes comes in from now on. */
  readonly follows: boolean
  /** Does nothing unless this replica holds the lease. */
  publish(message: Buffer | string): void
  /** Gives the lease up for another. */
  leave(): void
}

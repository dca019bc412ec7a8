/**
 * Lets one replica listen on behalf of all. The leader publishes what a node or stream announces; the others receive it. Only announcements
 * are shared: each replica reads, executes and verifies for itself, so two leaders at a time do no harm.
 */
export interface Relay {
  join(listener: RelayListener): RelayMember
}

export interface RelayListener {
  /** Called with each message that the leader published. */
  onMessage(message: Buffer): void
  /** Called when {@link RelayMember.leads} or {@link RelayMember.follows} changed. */
  onChange(): void
}

export interface RelayMember {
  /** Whether this replica must listen to the nodes itself: it holds the lease, or the others can't be reached. */
  readonly leads: boolean
  /** Whether the leader's messages arrive from now on. */
  readonly follows: boolean
  /** Publishes to the other replicas, if this replica holds the lease. */
  publish(message: Buffer | string): void
  /** Leaves, and releases the lease if held. */
  leave(): void
}

import type { FollowerStatus, HeadStatus } from '@upfront/chain'
import type { CarryPace, CarryStatus } from '@upfront/simulation'

/** The values that gauges are read from. */
export interface Shown {
  head: HeadStatus
  carry: CarryStatus | undefined
  preconfirmed: FollowerStatus | undefined
  requests: { inFlight: number; queued: number; endedForMemory: number }
  memory: { bytes: number }
  webSockets: { open: number; subscriptions: number }
  truth: { waiting: number; busyMs: number }
}

/** Help, reader, and how several processes' values are combined (default `max`), or `counter`. */
export type Gauge<S> = [help: string, (shown: S) => number, type?: 'sum' | 'max' | 'counter']

const PACES: Record<CarryPace, number> = { each: 1, everySecond: 0.5, off: 0, distrusted: -1 }

export const GAUGES: { [N in keyof Shown]: Record<string, Gauge<Shown[N]>> } = {
  head: {
    upfront_head_following: ['Whether the head is followed now', ({ following }) => Number(following)],
    upfront_head_subscriptions: ['Nodes that announce heads over WebSocket', ({ subscribed }) => subscribed],
    upfront_head_trusted: [
      'Whether requests at latest use the followed head without asking the node',
      ({ trusted }) => Number(trusted),
    ],
    upfront_head_block: ['Number of the followed head; 0 if none is followed', ({ head }) => Number(head ?? 0)],
    upfront_head_age_seconds: ['Time since the followed head was first seen', ({ ageMs }) => (ageMs ?? 0) / 1_000],
    upfront_head_interval_seconds: ['Time between blocks, as observed', ({ intervalMs }) => intervalMs / 1_000],
  },
  carry: {
    upfront_carry_pace: [
      'Blocks over which state is carried: 1 each, 0.5 every second, 0 none, -1 none since an audit failed',
      (status) => PACES[status?.pace ?? 'off'],
    ],
  },
  preconfirmed: {
    upfront_preconfirmed_connected: [
      'Whether the flashblocks stream is connected',
      (status) => Number(status?.connected ?? false),
    ],
    upfront_preconfirmed_block: [
      'Number of the block under construction that pending shows; 0 if pending is the head',
      (status) => Number(status?.blockNumber ?? 0),
    ],
    upfront_preconfirmed_age_seconds: [
      'Age of the newest flashblock that pending shows',
      (status) => (status?.ageMs ?? 0) / 1_000,
    ],
  },
  requests: {
    upfront_requests_in_flight: ['Requests in flight', ({ inFlight }) => inFlight, 'sum'],
    upfront_requests_waiting: ['Requests waiting for their turn', ({ queued }) => queued, 'sum'],
    upfront_requests_ended_for_memory_total: [
      'Requests ended because memory was short',
      ({ endedForMemory }) => endedForMemory,
      'counter',
    ],
  },
  memory: {
    upfront_held_bytes: ['Bytes that requests hold in memory', ({ bytes }) => bytes, 'sum'],
  },
  webSockets: {
    upfront_websockets: ['Open WebSocket connections', ({ open }) => open, 'sum'],
    upfront_subscriptions: ['Subscriptions over WebSocket', ({ subscriptions }) => subscriptions, 'sum'],
  },
  truth: {
    upfront_truth_waiting: ['Predictions and comparisons waiting for spare time', ({ waiting }) => waiting, 'sum'],
    upfront_truth_busy_seconds_total: [
      'CPU time of predictions and comparisons, at most',
      ({ busyMs }) => busyMs / 1_000,
      'counter',
    ],
  },
}

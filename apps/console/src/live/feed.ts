import { useSyncExternalStore } from 'react'
import { type Hex, hexToBigInt } from 'viem'
import { call, webSocketUrl } from '../rpc.js'
import { follow, type Sight } from './follow.js'
import { type Readiness, watchReadiness } from './readiness.js'
import { StreamFaults } from './stream-faults.js'
import type { Disturbance } from './time-line.js'

/** An event shown on the page, numbered in order of arrival. */
export interface Mark {
  id: number
  /** Unix time in milliseconds, by this browser's clock. */
  at: number
  /** Absent if only the stream had a problem. */
  sight?: Sight
  disturbance?: Disturbance | undefined
}

/** The state of the live view. */
export interface FeedState {
  /** Newest first. */
  marks: readonly Mark[]
  connection: 'connecting' | 'following' | 'lost'
  hasFlashblocks: boolean
  /** How often the connection was lost. */
  losses: number
  readiness: Readiness
  /** The newest head, and when it arrived. */
  head: { number: bigint; at: number } | undefined
}

/** Most marks kept, and how long a disturbance is shown. */
const MAX_MARKS = 400
const FORGET_MS = 5 * 60_000

/** Least milliseconds between two renderings of the live view: each takes 30 ms of a processor. */
const RENDER_MS = 250

let state: FeedState = {
  ...{ marks: [], connection: 'connecting', hasFlashblocks: false, losses: 0, readiness: {}, head: undefined },
}
const listeners = new Set<() => void>()
let isFollowing = false
let willRender = false
let renderedAt = 0

function change(changed: Partial<FeedState>): void {
  state = { ...state, ...changed }
  if (willRender) return
  willRender = true
  const render = () => {
    willRender = false
    renderedAt = performance.now()
    for (const listener of listeners) listener()
  }
  setTimeout(render, renderedAt + RENDER_MS - performance.now())
}

let lastId = 0

function add(mark: { at?: number; sight?: Sight; disturbance?: Disturbance | undefined }): void {
  const at = Date.now()
  const kept = state.marks.slice(0, MAX_MARKS - 1)
  lastId += 1
  const { sight } = mark
  change({
    marks: [{ id: lastId, at, ...mark }, ...kept].filter((known) => at - known.at < FORGET_MS),
    ...(sight?.what === 'head' && { head: { number: BigInt(sight.block), at } }),
  })
}

/** Starts following at the first use, until the page is closed: marks survive a change of view. */
function begin(): void {
  if (isFollowing) return
  isFollowing = true
  const faults = new StreamFaults()
  watchReadiness((readiness) => {
    change({ readiness })
    for (const fault of faults.unseen(readiness)) add(fault)
  })
  follow(webSocketUrl(location), {
    onSight: (sight) => add({ sight, disturbance: sight.disturbance }),
    onConnection: (connection) => change({ connection }),
    onFlashblocks: () => change({ hasFlashblocks: true }),
    onLost: () => change({ losses: state.losses + 1 }),
  })
  call<{ number: Hex; timestamp: Hex }>('eth_getBlockByNumber', ['latest', false]).then(
    ({ result }) => {
      if (state.head === undefined)
        change({
          head: { number: hexToBigInt(result.number), at: Math.min(Date.now(), Number(result.timestamp) * 1_000) },
        })
    },
    // Errors are ignored: the subscription reports the next head.
    () => {},
  )
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  begin()
  return () => listeners.delete(listener)
}

/** Selects a part of the feed; components render only when their part changes. */
export function useFeed<Part>(select: (state: FeedState) => Part): Part {
  return useSyncExternalStore(subscribe, () => select(state))
}

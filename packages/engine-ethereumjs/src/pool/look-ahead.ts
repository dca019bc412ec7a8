import { ZERO_HASH } from '@upfront/protocol'
import { readKey, type SimulationPlan, type StateRead, type StateValue } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
import { LimitedSlice, type TimeSlice } from '../evm/time-slice.js'
import type { GasBudget } from '../execute/execute-block.js'
import { simulatePlan } from '../execute/simulate-plan.js'
import type { ReadState } from '../state/world-state.js'

/** Of one plan. */
const MOST_LOOKS = 8
/** Jumps and frames of all looks of a plan together; they share half of its gas too. */
const MOST_CHECKS = 200_000
const MOST_AHEAD = 1_000
const LAST_SEEN_BYTES = 16 * 1024 * 1024
const WORD_BYTES = 32
/** So that no lack of funds ends a look ahead. */
const PLENTY = 1n << 120n

/** What was last read of each place in the state, on any block. On a new one most of it is the same. */
const lastSeen = new LRUCache<string, StateValue>({
  maxSize: LAST_SEEN_BYTES,
  sizeCalculation: (value, key) => key.length + (typeof value === 'string' ? value.length : WORD_BYTES),
})

/**
 * Reads for one run of the plan. Where the run lacks values, the plan first runs ahead without them, and all that it lacks is read
 * together. What comes of the look ahead is dropped.
 */
export function lookingAhead(plan: SimulationPlan, read: ReadState, slice: TimeSlice): ReadState {
  const known = new Map<string, StateValue>()
  const gas: GasBudget = { left: plan.gasBudget / 2n }
  const limited = new LimitedSlice(slice, MOST_CHECKS)
  let left = MOST_LOOKS
  const look = async (take: (reads: readonly StateRead[]) => void) => {
    const assume: ReadState = async (reads) => {
      take(reads)
      return reads.map((read) => known.get(readKey(read)) ?? assumption(read))
    }
    left -= 1
    // However it ends, what it found by then is read.
    await simulatePlan(plan, assume, limited, gas).catch(() => undefined)
    slice.throwIfCancelled()
  }
  return async (reads) => {
    const lacking = new Map<string, StateRead>()
    const most = reads.length + MOST_AHEAD
    const take = (more: readonly StateRead[]) => {
      for (const one of more) {
        const key = readKey(one)
        if (!known.has(key) && lacking.size < most) lacking.set(key, one)
      }
    }
    take(reads)
    if (lacking.size > 0 && left > 0 && gas.left > 0n) await look(take)
    if (lacking.size > 0) {
      const wanted = [...lacking.values()]
      const values = await read(wanted)
      for (const [index, one] of wanted.entries()) keep(known, one, values[index]!)
    }
    return reads.map((one) => known.get(readKey(one))!)
  }
}

function assumption(read: StateRead): StateValue {
  const seen = lastSeen.get(readKey(read))
  if (seen !== undefined) return seen
  switch (read.kind) {
    case 'balance':
      return PLENTY
    case 'nonce':
      return 0n
    case 'code':
      return '0x'
    case 'storage':
    case 'blockHash':
      return ZERO_HASH
  }
}

function keep(known: Map<string, StateValue>, read: StateRead, value: StateValue): void {
  const key = readKey(read)
  known.set(key, value)
  lastSeen.set(key, value)
}

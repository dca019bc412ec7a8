import { type Address, type Hex, ZERO_HASH } from '@upfront/protocol'
import { readKey, type SimulationPlan, type StateRead, type StateValue } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
import { SingleTurn } from '../evm/time-slice.js'
import { simulatePlan } from '../execute/simulate-plan.js'
import type { ReadState } from '../state/world-state.js'

/** Of one plan. */
const MOST_LOOKS = 8
/** Jumps and frames of one look. */
const MOST_CHECKS = 30_000
const MOST_AHEAD = 1_000
const CODE_BYTES = 8 * 1024 * 1024
/** So that no lack of funds ends a look ahead. */
const PLENTY = 1n << 120n

/** The code that accounts were last seen with, on any block. */
const lastSeenCode = new LRUCache<Address, Hex>({ maxSize: CODE_BYTES, sizeCalculation: (code) => code.length })

/**
 * Reads for one run of the plan. Where the run lacks values, the plan first runs ahead without them, and all that it lacks is read
 * together. What comes of the look ahead is dropped.
 */
export function lookingAhead(plan: SimulationPlan, read: ReadState): ReadState {
  const known = new Map<string, StateValue>()
  let looks = 0
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
    if (lacking.size > 0 && ++looks <= MOST_LOOKS) await look(plan, known, take)
    if (lacking.size > 0) {
      const wanted = [...lacking.values()]
      const values = await read(wanted)
      for (const [index, one] of wanted.entries()) keep(known, one, values[index]!)
    }
    return reads.map((one) => known.get(readKey(one))!)
  }
}

async function look(
  plan: SimulationPlan,
  known: ReadonlyMap<string, StateValue>,
  take: (reads: readonly StateRead[]) => void,
): Promise<void> {
  const assume: ReadState = async (reads) => {
    take(reads)
    return reads.map((read) => known.get(readKey(read)) ?? assumption(read))
  }
  await simulatePlan(plan, assume, new SingleTurn(MOST_CHECKS)).catch(() => 'what it found by then is read')
}

function assumption(read: StateRead): StateValue {
  switch (read.kind) {
    case 'balance':
      return PLENTY
    case 'nonce':
      return 0n
    case 'code':
      return lastSeenCode.get(read.address) ?? '0x'
    case 'storage':
    case 'blockHash':
      return ZERO_HASH
  }
}

function keep(known: Map<string, StateValue>, read: StateRead, value: StateValue): void {
  known.set(readKey(read), value)
  if (read.kind === 'code' && typeof value === 'string' && value !== '0x') lastSeenCode.set(read.address, value)
}

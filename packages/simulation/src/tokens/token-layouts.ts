import type { Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'

const MOST = 2_000

/** In which field of its slot contracts keep an amount, by their code: only a hint, as each amount that is set is read back. */
export class TokenLayouts extends LRUCache<string, SlotField> {
  constructor() {
    super({ max: MOST })
  }
}

/** Where a number stands in a slot: its lowest bit, and how many it has. */
export interface SlotField {
  shift: number
  width: number
}

const BITS = 256
export const ONES = (1n << 256n) - 1n

/** The slot with the number in its field, all other bits as they are. */
export function placed(before: bigint, { shift, width }: SlotField, value: bigint): bigint {
  const mask = ((1n << BigInt(width)) - 1n) << BigInt(shift)
  return (before & (ONES ^ mask)) | (value << BigInt(shift))
}

/**
 * What to write into a slot to learn where in it a number stands: nothing, all bits, and for each bit of a position those bits whose
 * position has it.
 */
export const FIELD_PROBES: readonly bigint[] = [0n, ONES, ...Array.from({ length: 8 }, (_, bit) => positionsWith(bit))]

/**
 * The field, where a view gives the number in it as it stands.
 * @param answers to `FIELD_PROBES`, in their order; undefined where the view fails
 */
export function fieldOf([none, all, ...byPosition]: readonly (bigint | undefined)[]): SlotField | undefined {
  if (none !== 0n || all === undefined || all === 0n || (all & (all + 1n)) !== 0n) return undefined
  const width = all.toString(2).length
  let shift = 0
  for (const [bit, answer] of byPosition.entries()) {
    if (answer === undefined) return undefined
    if ((answer & 1n) === 1n) shift |= 1 << bit
  }
  return shift + width <= BITS ? { shift, width } : undefined
}

export function slotOf(value: bigint): Hash {
  return `0x${value.toString(16).padStart(64, '0')}`
}

function positionsWith(bit: number): bigint {
  let value = 0n
  for (let position = 0; position < BITS; position++) if ((position >> bit) & 1) value |= 1n << BigInt(position)
  return value
}

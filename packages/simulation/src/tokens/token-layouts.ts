import type { Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'

const MOST = 2_000

/** Remembers, by code, which field of a slot holds an amount. Only a hint: each amount set is verified by reading it back. */
export class TokenLayouts extends LRUCache<string, SlotField> {
  constructor() {
    super({ max: MOST })
  }
}

/** A bit field of a slot: its lowest bit and its number of bits. */
export interface SlotField {
  shift: number
  width: number
}

const BITS = 256
export const ONES = (1n << 256n) - 1n

/** The slot's value with the field replaced, other bits unchanged. */
export function placed(before: bigint, { shift, width }: SlotField, value: bigint): bigint {
  const mask = ((1n << BigInt(width)) - 1n) << BigInt(shift)
  return (before & (ONES ^ mask)) | (value << BigInt(shift))
}

/**
 * Values to write into a slot to locate the field that a view returns: no bits, all bits, and for each bit of a bit position, all bits
 * whose position has it set.
 */
export const FIELD_PROBES: readonly bigint[] = [0n, ONES, ...Array.from({ length: 8 }, (_, bit) => positionsWith(bit))]

/**
 * The field, if the view returns it unscaled.
 * @param answers to `FIELD_PROBES`, in their order; undefined if the view fails
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

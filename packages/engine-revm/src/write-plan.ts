import type { Hash } from '@upfront/protocol'
import type { SimulationPlan } from '@upfront/simulation'
import {
  writeAccessListEntry,
  writeAuthorization,
  writePlan,
  writePlannedBlock,
  writePlannedCall,
  writeStateOverride,
  writeWithdrawal,
} from './border/records.js'
import { count, standInFor } from './border/text.js'

/** Characters written, and passed to the engine, in one turn of the event loop. */
const PIECE_LENGTH = 262_144

/** Most characters of a plan that is written at once. In pieces, 5,000 transfers took 6 ms more of the CPU. */
const MAX_AT_ONCE = 1_048_576

/** Estimated characters of an override or call, and of a slot with its value, for a plan's length. */
const ITEM_LENGTH = 128

/** Whether writing the plan at once would block the event loop for long. */
export function isLongPlan({ blocks }: SimulationPlan): boolean {
  let items = 0
  let length = 0
  for (const { withdrawals, stateOverrides, calls } of blocks) {
    items += withdrawals.length + stateOverrides.length + calls.length
    for (const { state, stateDiff, code } of stateOverrides) {
      items += (state?.length ?? 0) + (stateDiff?.length ?? 0)
      length += code?.length ?? 0
    }
    for (const { accessList, blobVersionedHashes, authorizationList, input, sealed } of calls) {
      items += accessList.length + (blobVersionedHashes?.length ?? 0) + (authorizationList?.length ?? 0)
      for (const { storageKeys } of accessList) items += storageKeys.length
      length += input.length + (sealed?.raw.length ?? 0)
    }
  }
  return length + items * ITEM_LENGTH > MAX_AT_ONCE
}

/**
 * `writePlan` in pieces.
 * @param append called with each piece except the last, which is returned
 */
export function writePlanInPieces(plan: SimulationPlan, append: (piece: string) => void): Generator<void, string> {
  return new PieceWriter(append).write(plan)
}

/** By field name: how the items of a possibly long list are written, and from which length on separately. */
const LISTS: Record<string, { write: (item: never) => string; from: number }> = {
  blocks: { write: writePlannedBlock, from: 1 },
  stateOverrides: { write: writeStateOverride, from: 1 },
  calls: { write: writePlannedCall, from: 1 },
  withdrawals: { write: writeWithdrawal, from: 64 },
  state: { write: ([slot, value]: [Hash, Hash]) => `${slot}\n${value}\n`, from: 64 },
  stateDiff: { write: ([slot, value]: [Hash, Hash]) => `${slot}\n${value}\n`, from: 64 },
  accessList: { write: writeAccessListEntry, from: 1 },
  storageKeys: { write: (key: Hash) => `${key}\n`, from: 64 },
  blobVersionedHashes: { write: (hash: Hash) => `${hash}\n`, from: 64 },
  authorizationList: { write: writeAuthorization, from: 64 },
}

/** Encloses, in the text, the number of a list written separately. Occurs in no value. */
const MARK = '\0'

class PieceWriter {
  readonly #append: (piece: string) => void
  #piece = ''
  /** Writers of the separate lists. */
  readonly #apart: (() => Generator<void>)[] = []

  constructor(append: (piece: string) => void) {
    this.#append = append
  }

  *write(plan: SimulationPlan): Generator<void, string> {
    yield* this.#marked(writePlan(this.#withMarks(plan)))
    return this.#piece
  }

  /** The record with marks in place of its long lists. */
  #withMarks<T extends object>(record: T): T {
    const marks: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(record) as [string, unknown][]) {
      const list = LISTS[name]
      if (typeof value === 'string' && value.length > PIECE_LENGTH) marks[name] = this.#mark(() => this.#long(value))
      else if (name === 'sealed') marks[name] = value && this.#withMarks(value)
      else if (list !== undefined && Array.isArray(value) && value.length >= list.from)
        marks[name] = standInFor(this.#mark(() => this.#list(value, list.write)))
    }
    return { ...record, ...marks }
  }

  #mark(write: () => Generator<void>): string {
    return `${MARK}${this.#apart.push(write) - 1}${MARK}`
  }

  *#list(items: readonly unknown[], write: (item: never) => string): Generator<void> {
    yield* this.#short(count(items.length))
    for (const item of items) {
      const isRecord = typeof item === 'object' && !Array.isArray(item)
      const text = write((isRecord ? this.#withMarks(item as object) : item) as never)
      yield* isRecord ? this.#marked(text) : this.#short(text)
    }
  }

  *#marked(text: string): Generator<void> {
    for (const [index, part] of text.split(MARK).entries())
      yield* index % 2 === 0 ? this.#short(part) : this.#apart[Number(part)]!()
  }

  *#short(text: string): Generator<void> {
    this.#piece += text
    if (this.#piece.length >= PIECE_LENGTH) yield* this.#end()
  }

  *#long(text: string): Generator<void> {
    yield* this.#end()
    for (let from = 0; from < text.length; from += PIECE_LENGTH) {
      this.#piece = text.slice(from, from + PIECE_LENGTH)
      if (this.#piece.length === PIECE_LENGTH) yield* this.#end()
    }
  }

  *#end(): Generator<void> {
    this.#append(this.#piece)
    this.#piece = ''
    yield
  }
}

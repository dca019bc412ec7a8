import type { Address, BlockStateCall, Hash } from '@upfront/protocol'
import { mergeOverrides } from '../accounts/merge-overrides.js'
import { type Question, wordOf } from '../assets/questions.js'
import { type CallRecord, hasFailed } from '../engine/call-record.js'
import { slotOf } from '../tokens/token-layouts.js'
import type { Rehearsal } from './rehearsal.js'

/** A storage slot and the value to set. */
export interface SlotValue {
  address: Address
  slot: Hash
  value: bigint
}

/** Gas limit of one question. */
const QUESTION_GAS = 1_000_000n

/**
 * Runs the questions as calls and returns their records, in order.
 * @param slots set before
 * @throws or rejects with what the run does
 */
export function probe(
  rehearsal: Rehearsal,
  questions: readonly Question[],
  slots: readonly SlotValue[] = [],
): Promise<CallRecord[]> {
  const calls = questions.map(({ to, input }) => ({ to, input, gas: QUESTION_GAS }))
  return rehearsal.run(calls, slots.map(overrideOf))
}

/** The view's answer with the slot set; undefined if it fails. */
export async function answerWith(rehearsal: Rehearsal, question: Question, slot: SlotValue) {
  const [record] = await probe(rehearsal, [question], [slot])
  return answerIn(record)
}

/** The first word of a view's answer; undefined if it failed. */
export function answerIn(record: CallRecord | undefined): bigint | undefined {
  const frame = record?.frames[0]
  return frame === undefined || hasFailed(frame) ? undefined : wordOf(frame.output)
}

/** The block with slots set on top of its own overrides. */
export function withSlots<B extends Pick<BlockStateCall, 'stateOverrides'>>(block: B, slots: readonly SlotValue[]): B {
  return { ...block, stateOverrides: mergeOverrides(block.stateOverrides, slots.map(overrideOf)) }
}

function overrideOf({ address, slot, value }: SlotValue) {
  return { address, stateDiff: [[slot, slotOf(value)] as [Hash, Hash]] }
}

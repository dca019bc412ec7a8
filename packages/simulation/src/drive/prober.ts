import type { Address, BlockStateCall, Hash } from '@upfront/protocol'
import { mergedOverrides } from '../accounts/merged-overrides.js'
import { type Question, wordOf } from '../assets/questions.js'
import { type CallRecord, hasFailed } from '../engine/call-record.js'
import { slotOf } from '../tokens/token-layouts.js'
import type { Rehearsal } from './rehearsal.js'

/** A slot of an account, and what it is to hold. */
export interface SlotValue {
  address: Address
  slot: Hash
  value: bigint
}

/** What one question may use. */
const QUESTION_GAS = 1_000_000n

/**
 * What contracts did to answer, in the order of the questions.
 * @param slots set before
 * @throws or rejects with what the run does
 */
export function probe(
  rehearsal: Rehearsal,
  questions: readonly Question[],
  slots: readonly SlotValue[] = [],
): Promise<CallRecord[]> {
  const calls = questions.map(({ to, input }) => ({ to, input, gas: QUESTION_GAS }))
  return rehearsal.try(calls, slots.map(overrideOf))
}

/** What a view answers with a slot set; undefined where it fails. */
export async function answerWith(rehearsal: Rehearsal, question: Question, slot: SlotValue) {
  const [record] = await probe(rehearsal, [question], [slot])
  return answerIn(record)
}

/** The first word that a view gave; undefined where it failed. */
export function answerIn(record: CallRecord | undefined): bigint | undefined {
  const frame = record?.frames[0]
  return frame === undefined || hasFailed(frame) ? undefined : wordOf(frame.output)
}

/** The block with slots set beside its own overrides. */
export function withSlots<B extends Pick<BlockStateCall, 'stateOverrides'>>(block: B, slots: readonly SlotValue[]): B {
  return { ...block, stateOverrides: mergedOverrides(block.stateOverrides, slots.map(overrideOf)) }
}

function overrideOf({ address, slot, value }: SlotValue) {
  return { address, stateDiff: [[slot, slotOf(value)] as [Hash, Hash]] }
}

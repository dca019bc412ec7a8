import type { AccessListEntry, Hash } from '@upfront/protocol'
import type { SimulationPlan } from '@upfront/simulation'
import { writeAccessListEntry, writePlan, writePlannedCall, writeStateOverride } from './border/records.js'
import { isLongList, writeInParts } from './border/text.js'

/** Characters: copying more is a turn of the event loop of its own. */
const LONG_TEXT = 1_048_576

/** Whether writing the plan at once would hold the event loop for long. */
export function isLongPlan({ blocks }: SimulationPlan): boolean {
  for (const { stateOverrides, calls } of blocks) {
    if (isLongList(stateOverrides) || isLongList(calls)) return true
    for (const { state, stateDiff, code } of stateOverrides)
      if (isLongList(state) || isLongList(stateDiff) || isLongText(code)) return true
    for (const { accessList, input } of calls)
      if (isLongList(accessList) || accessList.some(hasLongKeys) || isLongText(input)) return true
  }
  return false
}

/** `writePlan`, with long lists written in parts before. */
export function* writePlanInParts(plan: SimulationPlan): Generator<void, string> {
  for (const { stateOverrides, calls } of plan.blocks) {
    for (const { state, stateDiff } of stateOverrides) {
      if (isLongList(state)) yield* writeInParts(state!, writeSlot)
      if (isLongList(stateDiff)) yield* writeInParts(stateDiff!, writeSlot)
    }
    yield* writeInParts(stateOverrides, writeStateOverride)
    for (const { accessList } of calls) {
      if (accessList.some(hasLongKeys))
        for (const { storageKeys } of accessList) yield* writeInParts(storageKeys, (key) => `${key}\n`)
      if (isLongList(accessList)) yield* writeInParts(accessList, writeAccessListEntry)
    }
    yield* writeInParts(calls, writePlannedCall)
  }
  const text = writePlan(plan)
  // Looking at it makes V8 copy the parts that it has noted into one piece: the addon copies that in the next turn.
  text.charCodeAt(0)
  yield
  return text
}

function isLongText(text: string | undefined): boolean {
  return text !== undefined && text.length > LONG_TEXT
}

function writeSlot([slot, value]: [Hash, Hash]): string {
  return `${slot}\n${value}\n`
}

function hasLongKeys({ storageKeys }: AccessListEntry): boolean {
  return isLongList(storageKeys)
}

import type { AccessListEntry, Hash } from '@upfront/protocol'
import type { SimulationPlan } from '@upfront/simulation'
import { writeAccessListEntry, writePlan, writePlannedCall, writeStateOverride } from './border/records.js'
import { isLongList, writeInParts } from './border/text.js'

/** Whether writing the plan at once would hold the event loop for long. */
export function isLongPlan({ blocks }: SimulationPlan): boolean {
  for (const { stateOverrides, calls } of blocks) {
    if (isLongList(stateOverrides) || isLongList(calls)) return true
    for (const { state, stateDiff } of stateOverrides) if (isLongList(state) || isLongList(stateDiff)) return true
    for (const { accessList } of calls) if (isLongList(accessList) || accessList.some(hasLongKeys)) return true
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
  return writePlan(plan)
}

function writeSlot([slot, value]: [Hash, Hash]): string {
  return `${slot}\n${value}\n`
}

function hasLongKeys({ storageKeys }: AccessListEntry): boolean {
  return isLongList(storageKeys)
}

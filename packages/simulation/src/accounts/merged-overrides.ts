import type { StateOverride } from '@upfront/protocol'

/** Overrides with more on top, in ascending order of address: of one account the fields of both, slots of `more` before those there. */
export function mergedOverrides(overrides: readonly StateOverride[], more: readonly StateOverride[]): StateOverride[] {
  const byAddress = new Map(overrides.map((override) => [override.address, override]))
  for (const { address, stateDiff = [], ...fields } of more) {
    const known: StateOverride = byAddress.get(address) ?? { address }
    const field = known.state === undefined ? 'stateDiff' : 'state'
    const set = new Set(stateDiff.map(([slot]) => slot))
    const slots = [...(known[field] ?? []).filter(([slot]) => !set.has(slot)), ...stateDiff]
    byAddress.set(address, { ...known, ...fields, address, ...(slots.length > 0 && { [field]: slots }) })
  }
  return [...byAddress.values()].sort((one, other) => (one.address < other.address ? -1 : 1))
}

import type { StateOverride } from '@upfront/protocol'

/** Merges overrides, sorted by address. If both name an account, its fields and slots are merged, and those of `more` take precedence. */
export function mergeOverrides(overrides: readonly StateOverride[], more: readonly StateOverride[]): StateOverride[] {
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

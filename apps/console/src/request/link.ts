import { type BlockDraft, type Draft, EMPTY_ACCOUNT, EMPTY_CALL, textOf } from './draft.js'
import { DraftError } from './draft-error.js'

/** A draft for a link, behind its `#`: no server sees it. */
export function fragmentOf(draft: Draft): string {
  return encodeURIComponent(JSON.stringify(draft))
}

/** The draft of `fragmentOf`'s text, also from when a request was one block; undefined for any other text. */
export function draftOfFragment(fragment: string): Draft | undefined {
  try {
    const linked = JSON.parse(decodeURIComponent(fragment.replace(/^#/, ''))) as Partial<Draft & BlockDraft>
    const { abi, blocks = [linked as BlockDraft] } = linked
    if (blocks.length === 0 || blocks.some(({ calls }) => !Array.isArray(calls) || calls.length === 0)) return undefined
    return { blocks: blocks.map(linkedBlock), abi: textOf(abi) }
  } catch {
    return undefined
  }
}

function linkedBlock({ calls, accounts = [], overrides, number, time, baseFee }: BlockDraft): BlockDraft {
  return {
    calls: calls.map((call) => ({ ...EMPTY_CALL, ...texts(call) })),
    accounts: accounts.map((account) => ({ ...EMPTY_ACCOUNT, ...texts(account) })),
    ...{ overrides: textOf(overrides), number: textOf(number), time: textOf(time), baseFee: textOf(baseFee) },
  }
}

function texts(fields: object): Record<string, string> {
  if (fields === null) throw new DraftError('The link: not a call')
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, textOf(value)]))
}

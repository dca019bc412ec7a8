import { type BlockDraft, type Draft, EMPTY_ACCOUNT, EMPTY_BLOCK, EMPTY_CALL, textOf } from './draft.js'

/** Encodes a draft for a link's fragment, which no server sees. Empty fields are omitted. */
export function fragmentOf(draft: Draft): string {
  return encodeURIComponent(JSON.stringify(draft, (_, value) => (value === '' ? undefined : value)))
}

/** The params of `upfront_simulate` in a gateway's link, as text; undefined for other fragments. */
export function requestOfFragment(fragment: string): string | undefined {
  try {
    const text = decodeURIComponent(fragment.replace(/^#/, ''))
    return Array.isArray(JSON.parse(text)) ? text : undefined
  } catch {
    return undefined
  }
}

/** Decodes the text of {@link fragmentOf}, including the older form with a single block; undefined for other text. */
export function draftOfFragment(fragment: string): Draft | undefined {
  try {
    const linked = JSON.parse(decodeURIComponent(fragment.replace(/^#/, ''))) as Partial<Draft & BlockDraft>
    const { abi, validation, state, blocks = [linked as BlockDraft] } = linked
    if (blocks.length === 0 || blocks.some(({ calls }) => !Array.isArray(calls) || calls.length === 0)) return undefined
    return {
      blocks: blocks.map(linkedBlock),
      ...{ abi: textOf(abi), validation: textOf(validation), state: textOf(state) },
    }
  } catch {
    return undefined
  }
}

function linkedBlock({ calls, accounts = [], ...rest }: BlockDraft): BlockDraft {
  return {
    ...filled({ ...EMPTY_BLOCK, calls: '', accounts: '' }, rest),
    calls: calls.map((call) => filled(EMPTY_CALL, call)),
    accounts: accounts.map((account) => filled(EMPTY_ACCOUNT, account)),
  } as BlockDraft
}

/** The fields of a form, completed from a link. @throws TypeError if it is not an object */
function filled<Fields extends object>(empty: Fields, linked: object): Fields {
  if (linked === null) throw new TypeError('not a call')
  const texts = Object.keys(empty).map((name) => [name, textOf((linked as Record<string, unknown>)[name])])
  return Object.fromEntries(texts) as Fields
}

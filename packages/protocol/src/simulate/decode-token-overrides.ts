import { decodeAddress } from '../decode/bytes.js'
import { DecodeError, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeObject, unknownField } from '../decode/structure.js'
import type { Address } from '../hex.js'

/** An ERC-20 balance or allowance to set before a block's first call. */
export interface TokenSetting {
  /** Index in `blockStateCalls`. */
  block: number
  token: Address
  owner: Address
  /** Present for an allowance, absent for a balance. */
  spender?: Address
  /** In the token's smallest unit. */
  amount: bigint
  /** Its path in the request, for errors. */
  place: string
}

/** Finding the storage slot of each takes several runs. */
const MAX_SETTINGS = 32

/**
 * Extracts `erc20` from the state overrides of a payload's blocks:
 * `{ <token>: { balances: { <holder>: amount }, allowances: { <owner>: { <spender>: amount } } } }`, amounts as hex quantities.
 * @returns undefined if no block has it
 * @throws DecodeError with the place of the error
 */
export function extractTokenSettings(blocks: unknown): { settings: TokenSetting[]; blocks: unknown[] } | undefined {
  if (!Array.isArray(blocks) || !blocks.some((block) => tokensIn(block) !== undefined)) return undefined
  const settings: TokenSetting[] = []
  const rest = blocks.map((block, index) => {
    const tokens = tokensIn(block)
    if (tokens === undefined) return block
    const { erc20: _, ...stateOverrides } = block.stateOverrides
    const place = new Place(new Place(new Place(undefined, 'blockStateCalls'), index), 'stateOverrides')
    if (tokens !== null) settings.push(...settingsOf(tokens, index, new Place(place, 'erc20')))
    return { ...block, stateOverrides }
  })
  if (settings.length > MAX_SETTINGS)
    throw new DecodeError(
      new Place(undefined, 'blockStateCalls'),
      `at most ${MAX_SETTINGS} balances and allowances of \`erc20\` in a request, got ${settings.length}`,
    )
  return { settings, blocks: rest }
}

function tokensIn(block: unknown): unknown {
  return (block as { stateOverrides?: { erc20?: unknown } | null } | null)?.stateOverrides?.erc20
}

function settingsOf(tokens: unknown, block: number, place: Place): TokenSetting[] {
  const settings: TokenSetting[] = []
  const add = (at: Place, key: string, value: unknown, fields: Omit<TokenSetting, 'block' | 'amount' | 'place'>) =>
    settings.push({
      ...fields,
      block,
      amount: decodeQuantity(value, 256, at, key),
      place: new Place(at, key).toString(),
    })
  for (const [name, fields] of entriesOf(tokens, 'an object keyed by token', place)) {
    const token = decodeAddress(name, place, name)
    const at = new Place(place, name)
    for (const [field, value] of entriesOf(fields, 'an object with `balances` and `allowances`', at)) {
      const below = new Place(at, field)
      if (field === 'balances') {
        for (const [holder, amount] of entriesOf(value, 'an object keyed by holder', below))
          add(below, holder, amount, { token, owner: decodeAddress(holder, below, holder) })
      } else if (field === 'allowances') {
        for (const [owner, spenders] of entriesOf(value, 'an object keyed by owner', below))
          for (const [spender, amount] of entriesOf(spenders, 'an object keyed by spender', new Place(below, owner)))
            add(new Place(below, owner), spender, amount, {
              token,
              owner: decodeAddress(owner, below, owner),
              spender: decodeAddress(spender, new Place(below, owner), spender),
            })
      } else throw unknownField(field, ['balances', 'allowances'], {}, at)
    }
  }
  const seen = new Set<string>()
  for (const { token, owner, spender, place: at } of settings) {
    const key = `${token} ${owner} ${spender}`
    if (seen.has(key)) throw new DecodeError(place, `${at} is set twice`)
    seen.add(key)
  }
  return settings
}

function entriesOf(value: unknown, expected: string, place: Place): [string, unknown][] {
  return Object.entries(decodeObject(value, expected, place))
}

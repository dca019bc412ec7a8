import type { Address, Hex } from '@upfront/protocol'
import type { Asset, AssetApproval } from './events.js'

/** A view call that a probe makes. */
export interface Question {
  to: Address
  input: Hex
  /** Asked only after the call: the value before is not shown. */
  isAfter?: true
}

const SELECTOR = {
  balanceOf: '70a08231',
  ownerOf: '6352211e',
  balanceOfId: '00fdd58e',
  allowance: 'dd62ed3e',
  getApproved: '081812fc',
  isApprovedForAll: 'e985e9c5',
  permit2Allowance: '927da105',
  symbol: '95d89b41',
  decimals: '313ce567',
} as const

const MAX_SYMBOL = 32

/** `balanceOf` an account; for ERC-721 `ownerOf` the token. */
export function holdingOf(asset: Exclude<Asset, { type: 'native' }>, account: Address): Question {
  const { address: to } = asset
  switch (asset.type) {
    case 'erc20':
      return { to, input: encode(SELECTOR.balanceOf, account) }
    case 'erc721':
      return { to, input: encode(SELECTOR.ownerOf, asset.tokenId) }
    case 'erc1155':
      return { to, input: encode(SELECTOR.balanceOfId, account, asset.tokenId) }
  }
}

/** The view that confirms an approval. */
export function allowanceOf(approval: AssetApproval): Question {
  const { owner, spender } = approval
  switch (approval.kind) {
    case 'erc20':
      return after(approval.token, encode(SELECTOR.allowance, owner, spender))
    case 'erc721':
      return after(approval.token, encode(SELECTOR.getApproved, approval.tokenId))
    case 'operator':
      return after(approval.token, encode(SELECTOR.isApprovedForAll, owner, spender))
    case 'permit2':
      return after(approval.permit2, encode(SELECTOR.permit2Allowance, owner, approval.token, spender))
  }
}

export function symbolOf(to: Address): Question {
  return after(to, `0x${SELECTOR.symbol}`)
}

export function decimalsOf(to: Address): Question {
  return after(to, `0x${SELECTOR.decimals}`)
}

/** The first word of the return data. */
export function wordOf(answer: Hex | undefined): bigint | undefined {
  return answer === undefined || answer.length < 66 ? undefined : BigInt(answer.slice(0, 66))
}

export function addressOf(answer: Hex | undefined): Address | undefined {
  return answer === undefined || answer.length < 66 ? undefined : `0x${answer.slice(26, 66)}`
}

/** A token's decimals, if they fit in `uint8`. */
export function decimalsIn(answer: Hex | undefined): number | undefined {
  const word = wordOf(answer)
  return word === undefined || word > 255n ? undefined : Number(word)
}

/**
 * A symbol of at most 32 characters, returned as string or bytes32. It is untrusted: control and formatting characters, which can disguise
 * text, are removed.
 */
export function symbolIn(answer: Hex | undefined): string | undefined {
  if (answer === undefined || answer.length < 66) return undefined
  const bytes = Buffer.from(answer.slice(2), 'hex')
  const isString = bytes.length >= 64 && wordOf(answer) === 32n
  const length = isString ? Math.min(Number(wordOf(`0x${answer.slice(66, 130)}`) ?? 0n), bytes.length - 64) : 32
  const text = (isString ? bytes.subarray(64, 64 + length) : bytes.subarray(0, 32)).toString('utf8')
  const shown = Array.from(text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ''))
    .slice(0, MAX_SYMBOL)
    .join('')
    .trim()
  return shown === '' ? undefined : shown
}

function after(to: Address, input: Hex): Question {
  return { to, input, isAfter: true }
}

function encode(selector: string, ...args: (Address | bigint)[]): Hex {
  const words = args.map((arg) => (typeof arg === 'bigint' ? arg.toString(16) : arg.slice(2)).padStart(64, '0'))
  return `0x${selector}${words.join('')}`
}

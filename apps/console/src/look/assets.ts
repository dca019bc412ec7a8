import { type Address, formatUnits, type Hex, hexToBigInt } from 'viem'
import { shortAddress } from '../address-text.js'

export interface Asset {
  type: 'native' | 'erc20' | 'erc721' | 'erc1155'
  address?: Address
  tokenId?: Hex
  /** This and the next are the token's own words. */
  symbol?: string
  decimals?: number
}

type Confirmation = 'agrees' | 'disagrees' | 'unknown'

export type Transfer = Asset & { from: Address; to: Address; amount: Hex }

export interface Approval {
  token: Asset
  owner: Address
  spender: Address
  amount?: Hex
  tokenId?: Hex
  approved?: boolean
  permit2?: Address
  /** What the contract says is left afterwards. */
  after?: Hex
  confirmation: Confirmation
}

/** As `upfront_simulate` answers with `assetChanges`, as far as it is shown. */
export interface AssetChanges {
  transfers: Transfer[]
  balances: (Asset & { account: Address; before?: Hex; after?: Hex; confirmation: Confirmation })[]
  owners: (Asset & { confirmation: Confirmation })[]
  approvals: Approval[]
}

/** From here on an allowance is meant to have no end. */
export const ENDLESS = 2n ** 159n

/** An amount in the asset's units where it names its decimals. */
export function amountText(asset: Asset, amount: Hex): string {
  return textOf(
    asset,
    amount,
    (id) => `${id}`,
    (units) => units,
  )
}

/** The same, cut for a picture: a number that is not shown whole ends in `…`, or is rounded after `≈`. */
export function shortAmountText(asset: Asset, amount: Hex): string {
  return textOf(asset, amount, shortNumber, shortNumber)
}

function textOf(
  { type, symbol, decimals, tokenId }: Asset,
  amount: Hex,
  idText: (id: string) => string,
  unitsText: (units: string) => string,
): string {
  const units = hexToBigInt(amount)
  if (type === 'native') return `${unitsText(formatUnits(units, 18))} ETH`
  const id = tokenId === undefined ? '' : ` no. ${idText(hexToBigInt(tokenId).toString())}`
  if (type === 'erc721') return `${symbol ?? 'token'}${id}`
  return `${unitsText(formatUnits(units, decimals ?? 0))} ${symbol ?? 'units'}${id}`
}

const MOST_DECIMALS = 6
const MOST_DIGITS = 12

function shortNumber(decimal: string): string {
  const [whole = '', part = ''] = decimal.split('.')
  if (whole.length > MOST_DIGITS) return `≈ ${Number(whole).toExponential(3)}`
  return part.length > MOST_DECIMALS ? `${whole}.${part.slice(0, MOST_DECIMALS)}…` : decimal
}

/** What an approval lets its spender do. @param amountIn how an amount is written */
export function approvalText(approval: Approval, amountIn = amountText): string {
  const { token, amount, tokenId } = approval
  const name = token.symbol ?? (token.address === undefined ? 'the token' : shortAddress(token.address))
  if (isRevocation(approval)) return `take nothing more of ${name}`
  if (tokenId !== undefined) return `take ${name} no. ${hexToBigInt(tokenId)}`
  if (amount === undefined || isEndless(approval)) return `take all of ${name}`
  return `take ${amountIn(token, amount)}`
}

/** What of an allowance is left after the calls: they may have spent a part. */
export function leftOf({ amount, after }: Approval): Hex | undefined {
  if (amount === undefined || after === undefined) return amount
  return hexToBigInt(after) < hexToBigInt(amount) ? after : amount
}

/** Whether it lets its spender take everything, for ever. */
export function isEndless(approval: Approval): boolean {
  const { tokenId, approved } = approval
  const left = leftOf(approval)
  if (approved === false || tokenId !== undefined) return false
  return left === undefined || hexToBigInt(left) >= ENDLESS
}

/** Whether it takes an allowance back. */
export function isRevocation({ amount, approved, spender }: Approval): boolean {
  return approved === false || (amount !== undefined && hexToBigInt(amount) === 0n) || hexToBigInt(spender) === 0n
}

/** Whether some contract's own view contradicts its logs. */
export function isDoubtful({ balances, owners, approvals }: AssetChanges): boolean {
  return [...balances, ...owners, ...approvals].some(({ confirmation }) => confirmation === 'disagrees')
}

/** The transfers that a balance or an owner, as the token itself tells it, contradicts. */
export function contradictedTransfers({ transfers, balances, owners }: AssetChanges): ReadonlySet<Transfer> {
  const key = ({ address, tokenId }: Asset, account = '') => [address, tokenId, account].join()
  const wrong = new Set([
    ...balances.filter(isContradicted).map((balance) => key(balance, balance.account)),
    ...owners.filter(isContradicted).map((owner) => key(owner)),
  ])
  const isWrong = (transfer: Transfer) =>
    [transfer.from, transfer.to, ''].some((account) => wrong.has(key(transfer, account)))
  return new Set(transfers.filter(isWrong))
}

/** Whether the contract says something else than its log did. */
export function isContradicted({ confirmation }: { confirmation: Confirmation }): boolean {
  return confirmation === 'disagrees'
}

import { type Address, formatUnits, type Hex, hexToBigInt } from 'viem'
import { shortAddress } from '../address-text.js'

export interface Asset {
  type: 'native' | 'erc20' | 'erc721' | 'erc1155'
  address?: Address
  tokenId?: Hex
  /** Symbol and decimals as the token itself returns them. */
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
  /** The remaining allowance according to the contract. */
  after?: Hex
  confirmation: Confirmation
}

/** The part of `assetChanges` of `upfront_simulate` that is shown. */
export interface AssetChanges {
  transfers: Transfer[]
  balances: (Asset & { account: Address; before?: Hex; after?: Hex; confirmation: Confirmation })[]
  owners: (Asset & { confirmation: Confirmation })[]
  approvals: Approval[]
}

/** Allowances from here on are meant to be unlimited. */
export const ENDLESS = 2n ** 159n

/** An amount in the asset's units, if its decimals are known. */
export function amountText(asset: Asset, amount: Hex): string {
  return textOf(
    asset,
    amount,
    (id) => `${id}`,
    (units) => units,
  )
}

/** Like {@link amountText}, shortened for a picture: cut numbers end in `…`, rounded ones follow `≈`. */
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

const MAX_DECIMALS = 6
const MAX_DIGITS = 12

function shortNumber(decimal: string): string {
  const [whole = '', part = ''] = decimal.split('.')
  if (whole.length > MAX_DIGITS) return `≈ ${Number(whole).toExponential(3)}`
  return part.length > MAX_DECIMALS ? `${whole}.${part.slice(0, MAX_DECIMALS)}…` : decimal
}

/** What an approval lets its spender do. @param amountIn formats an amount */
export function approvalText(approval: Approval, amountIn = amountText): string {
  const { token, amount, tokenId } = approval
  const name = token.symbol ?? (token.address === undefined ? 'the token' : shortAddress(token.address))
  if (isRevocation(approval)) return `take nothing more of ${name}`
  if (tokenId !== undefined) return `take ${name} no. ${hexToBigInt(tokenId)}`
  if (amount === undefined || isEndless(approval)) return `take all of ${name}`
  return `take ${amountIn(token, amount)}`
}

/** The remaining allowance after the calls, which may have used a part. */
export function leftOf({ amount, after }: Approval): Hex | undefined {
  if (amount === undefined || after === undefined) return amount
  return hexToBigInt(after) < hexToBigInt(amount) ? after : amount
}

/** Whether it lets its spender take everything without a time limit. */
export function isEndless(approval: Approval): boolean {
  const { tokenId, approved } = approval
  const left = leftOf(approval)
  if (approved === false || tokenId !== undefined) return false
  return left === undefined || hexToBigInt(left) >= ENDLESS
}

/** Whether it revokes an allowance. */
export function isRevocation({ amount, approved, spender }: Approval): boolean {
  return approved === false || (amount !== undefined && hexToBigInt(amount) === 0n) || hexToBigInt(spender) === 0n
}

/** Whether a contract's state contradicts its logs. */
export function isDoubtful({ balances, owners, approvals }: AssetChanges): boolean {
  return [...balances, ...owners, ...approvals].some(({ confirmation }) => confirmation === 'disagrees')
}

/** Transfers that the token's own balances or owners contradict. */
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

/** Whether the contract's state contradicts its log. */
export function isContradicted({ confirmation }: { confirmation: Confirmation }): boolean {
  return confirmation === 'disagrees'
}

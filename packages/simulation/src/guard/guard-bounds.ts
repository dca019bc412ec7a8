import { type Address, ZERO_ADDRESS } from '@upfront/protocol'
import { assetEvents } from '../assets/asset-events.js'
import type { CallRecord } from '../engine/call-record.js'
import type { GuardBound } from './guard-contract.js'

/** Tolerance in thousandths for amounts, because prices move while a transaction waits. */
const SLACK = 10n
const LARGEST = (1n << 255n) - 1n

/**
 * The bounds that hold an account to what a call showed: each balance that it moved may end at most 1% worse, and the callee and approved
 * spenders get no higher allowance than shown. ERC-721 tokens are bounded by their count. ERC-1155 tokens and other approvals than ERC-20's
 * have no bound.
 * @param record with frames
 */
export function guardBounds(record: CallRecord): GuardBound[] {
  const [top] = record.frames
  if (top === undefined) return []
  const account = top.from
  const { transfers, approvals } = assetEvents(record)
  const changes = new Map<Address, bigint>([[ZERO_ADDRESS, 0n]])
  for (const { asset, from, to, amount } of transfers) {
    if (from === to || asset.type === 'erc1155') continue
    const token = asset.type === 'native' ? ZERO_ADDRESS : asset.address
    if (from === account) changes.set(token, (changes.get(token) ?? 0n) - amount)
    if (to === account) changes.set(token, (changes.get(token) ?? 0n) + amount)
  }
  const balances = [...changes].map(([token, change]) => ({ token, spender: ZERO_ADDRESS, least: leastOf(change) }))
  const allowances = new Map<string, GuardBound>()
  const allow = (token: Address, spender: Address, most: bigint) =>
    allowances.set(token + spender, { token, spender, least: most })
  for (const [token] of changes)
    if (token !== ZERO_ADDRESS && top.to !== undefined && top.to !== token) allow(token, top.to, 0n)
  for (const approval of approvals) {
    if (approval.owner !== account || approval.kind !== 'erc20') continue
    const { token, spender, amount } = approval
    // An allowance above the contract's range counts as unlimited and gets no bound.
    if (amount > LARGEST) allowances.delete(token + spender)
    else allow(token, spender, amount)
  }
  return [...balances, ...allowances.values()]
}

/** Within the contract's int256: logs may claim amounts beyond it. */
function leastOf(change: bigint): bigint {
  const slack = ((change < 0n ? -change : change) * SLACK) / 1_000n
  const least = change - slack
  if (least > LARGEST) return LARGEST
  return least < -LARGEST ? -LARGEST : least
}

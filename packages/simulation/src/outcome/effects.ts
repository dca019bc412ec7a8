import { type Address, type SimulatedCall, toQuantity } from '@upfront/protocol'
import { type Asset, type AssetApproval, type AssetTransfer, approvalIn, transfersByLogs } from '../assets/events.js'

/** The compared part of a call's outcome: whether it failed, and what it moved and approved. */
export interface Effects {
  failed: boolean
  /** In order. Entries that differ only in amount have the same `what`. */
  moved: { what: string; amount: bigint }[]
}

/** The difference between two outcomes. */
export interface Difference {
  /** Description. */
  effect: string
  /** Whether more than amounts differ. */
  isStructural: boolean
}

/** Emitters of native transfer logs: traced transfers (ERC-7528), and the protocol itself (EIP-7708). */
const NATIVE = new Set<Address>([
  '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
  '0xfffffffffffffffffffffffffffffffffffffffe',
])

/**
 * Effects of a call whose logs include native transfers.
 * @param feeRecipient of the call's block, named by role so that another recipient is no difference
 */
export function effectsOf(
  { status, logs }: Pick<SimulatedCall, 'status' | 'logs'>,
  feeRecipient: Address | undefined,
): Effects {
  const named = (account: Address) => (account === feeRecipient ? 'the fee recipient' : account)
  const transfers = transfersByLogs(logs).map(toNative)
  return {
    failed: status === '0x0',
    moved: [
      ...transfers.filter(({ from, to }) => from !== to).map((transfer) => describeTransfer(transfer, named)),
      ...logs.flatMap((log) => approvalIn(log) ?? []).map(describeApproval),
    ],
  }
}

function toNative(transfer: AssetTransfer): AssetTransfer {
  const { asset } = transfer
  return asset.type === 'erc20' && NATIVE.has(asset.address) ? { ...transfer, asset: { type: 'native' } } : transfer
}

/** Undefined if they are equal. */
export function differenceOf(before: Effects, after: Effects): Difference | undefined {
  if (before.failed !== after.failed) return { effect: after.failed ? 'fails' : 'succeeds', isStructural: true }
  const was = sumAmounts(before)
  const is = sumAmounts(after)
  for (const what of was.keys()) if (!is.has(what)) return { effect: `no ${what}`, isStructural: true }
  for (const what of is.keys()) if (!was.has(what)) return { effect: `also ${what}`, isStructural: true }
  for (const [what, amount] of was) {
    const other = is.get(what)!
    if (amount !== other)
      return { effect: `${toQuantity(other)} instead of ${toQuantity(amount)}: ${what}`, isStructural: false }
  }
  return undefined
}

/** Total amounts by `what`, in order of first occurrence, without zero amounts. */
function sumAmounts({ moved }: Effects): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const { what, amount } of moved) if (amount !== 0n) sums.set(what, (sums.get(what) ?? 0n) + amount)
  return sums
}

function describeTransfer(
  { asset, from, to, amount }: AssetTransfer,
  named: (account: Address) => string,
): Effects['moved'][0] {
  return { what: `transfer of ${nameOf(asset)} from ${named(from)} to ${named(to)}`, amount }
}

function nameOf(asset: Asset): string {
  switch (asset.type) {
    case 'native':
      return 'the native currency'
    case 'erc20':
      return asset.address
    default:
      return `${asset.address} ${asset.tokenId}`
  }
}

function describeApproval(approval: AssetApproval): Effects['moved'][0] {
  const { token, owner, spender } = approval
  const what = `approval of ${token} from ${owner} to ${spender}`
  switch (approval.kind) {
    case 'erc721':
      return { what: `${what} for ${approval.tokenId}`, amount: 1n }
    case 'operator':
      return { what: `${what} for all`, amount: approval.approved ? 1n : 0n }
    default:
      return { what, amount: approval.amount }
  }
}

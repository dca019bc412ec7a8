import { type Address, type Hex, hexToBigInt, toHex } from 'viem'
import {
  type Approval,
  type Asset,
  type AssetChanges,
  amountText,
  contradictedTransfers,
  isEndless,
  isRevocation,
  leftOf,
} from './assets.js'

/** Net amount of one asset that an account gives or receives. */
interface Flow {
  asset: Asset
  /** Negative if given. */
  net: bigint
  /** Whether the token's balances contradict it. */
  isDoubtful: boolean
}

/** Subject of the sentence: `You`, or `The account`. */
export interface Subject {
  address: Address
  isYou: boolean
}

/** Merges the changes of several calls. */
export function joinedChanges(changes: readonly AssetChanges[]): AssetChanges {
  return {
    transfers: changes.flatMap(({ transfers }) => transfers),
    balances: changes.flatMap(({ balances }) => balances),
    owners: changes.flatMap(({ owners }) => owners),
    approvals: changes.flatMap(({ approvals }) => approvals),
  }
}

/** For example `You send 1.5 WETH and receive 1.4955 TUSD. Nobody gains an allowance.` */
export function sentenceOf(
  changes: AssetChanges,
  { address, isYou }: Subject,
  nameOf: (address: Address) => string,
): string {
  const flows = flowsOf(changes, address)
  const sent = flows.filter(({ net }) => net < 0n).map(flowText)
  const received = flows.filter(({ net }) => net > 0n).map(flowText)
  const subject = isYou ? 'You' : 'The account'
  const verb = (plain: string) => (isYou ? plain : `${plain}s`)
  const parts = [
    sent.length > 0 && `${verb('send')} ${listed(sent)}`,
    received.length > 0 && `${verb('receive')} ${listed(received)}`,
  ].filter((part) => part !== false)
  const hands =
    parts.length > 0
      ? `${subject} ${parts.join(' and ')}.`
      : changes.transfers.length > 0
        ? `${subject} ${verb('send')} and ${verb('receive')} nothing; others do.`
        : 'Nothing changes hands.'
  return `${hands} ${allowances(gainedApprovals(changes, address), isYou ? 'your' : 'its', nameOf)}`
}

/** New allowances of the account's assets: the last approval for each spender. */
export function gainedApprovals({ approvals }: AssetChanges, owner: Address): Approval[] {
  const last = new Map<string, Approval>()
  for (const approval of approvals) {
    const { token, spender, tokenId } = approval
    if (approval.owner === owner) last.set([token.address, spender, tokenId].join(), approval)
  }
  return [...last.values()].filter((approval) => !isRevocation(approval) && !isSpent(approval))
}

/** Whether nothing is left: the calls used the whole allowance. */
function isSpent(approval: Approval): boolean {
  const left = leftOf(approval)
  return left !== undefined && hexToBigInt(left) === 0n
}

function allowances(gained: Approval[], your: string, nameOf: (address: Address) => string): string {
  if (gained.length === 0) return 'Nobody gains an allowance.'
  const lines = gained.map((approval) => {
    const { token, spender, tokenId } = approval
    const name = token.symbol ?? (token.address ? nameOf(token.address) : 'tokens')
    const what =
      tokenId !== undefined
        ? `${your} ${name} no. ${hexToBigInt(tokenId)}`
        : isEndless(approval)
          ? `all of ${your} ${name}, now and later`
          : `up to ${amountText(token, leftOf(approval) as Hex)}`
    return `${nameOf(spender)} may take ${what}.`
  })
  return lines.join(' ')
}

function flowText({ asset, net, isDoubtful }: Flow): string {
  return `${isDoubtful ? 'supposedly ' : ''}${amountText(asset, toHex(net < 0n ? -net : net))}`
}

/** Net amounts that an account gives or receives, by asset. */
export function flowsOf(changes: AssetChanges, account: Address): Flow[] {
  const flows = new Map<string, Flow>()
  const contradicted = contradictedTransfers(changes)
  for (const transfer of changes.transfers) {
    const { from, to, amount, ...asset } = transfer
    if (from === to || (from !== account && to !== account)) continue
    const key = [asset.type, asset.address, asset.tokenId].join()
    const flow = flows.get(key) ?? { asset, net: 0n, isDoubtful: false }
    flow.net += to === account ? hexToBigInt(amount) : -hexToBigInt(amount)
    flow.isDoubtful ||= contradicted.has(transfer)
    flows.set(key, flow)
  }
  return [...flows.values()]
}

function listed(parts: string[]): string {
  const most = 4
  if (parts.length > most) return `${parts.slice(0, most).join(', ')} and ${parts.length - most} more`
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

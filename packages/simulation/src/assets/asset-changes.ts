import { type Address, type Hex, toQuantity, ZERO_ADDRESS } from '@upfront/protocol'
import type { CallRecord, Probed } from '../engine/call-record.js'
import type { Probe } from '../plan/recording.js'
import { type AssetEvents, assetEvents } from './asset-events.js'
import type { Asset, AssetApproval } from './events.js'
import {
  addressOf,
  allowanceOf,
  decimalsIn,
  decimalsOf,
  holdingOf,
  type Question,
  symbolIn,
  symbolOf,
  wordOf,
} from './questions.js'

type Token = Exclude<Asset, { type: 'native' }>

/** Limit of questions per request. Each is asked after its call and, if the value before is shown, before it. */
const MAX_QUESTIONS = 256

const UNNAMED = { symbol: undefined, decimals: undefined }

/** An asset as shown. `symbol` and `decimals` are what the token itself returns. */
export interface ShownAsset {
  type: Asset['type']
  address?: Address
  tokenId?: Hex
  symbol?: string
  decimals?: number
}

/**
 * Whether the contract's view functions, called before and after the call, confirm its logs. `unknown`: the view did not answer, or the
 * request's limit of questions was reached.
 */
export type Confirmation = 'agrees' | 'disagrees' | 'unknown'

export interface AssetChanges {
  /** From frames and logs. A log is only the contract's claim: `balances` shows the effect. */
  transfers: (ShownAsset & { from: Address; to: Address; amount: Hex })[]
  /** For every account that sends or receives in a transfer. */
  balances: (ShownAsset & {
    account: Address
    before?: Hex
    after?: Hex
    /** Sum of the transfers, signed. */
    transferred: string
    confirmation: Confirmation
  })[]
  /** Owners of ERC-721 tokens. */
  owners: (ShownAsset & { before?: Address; after?: Address; told: Address; confirmation: Confirmation })[]
  approvals: ShownApproval[]
}

export interface ShownApproval {
  kind: AssetApproval['kind']
  token: ShownAsset
  owner: Address
  spender: Address
  amount?: Hex
  tokenId?: Hex
  approved?: boolean
  expiration?: Hex
  permit2?: Address
  /** What the contract returns after the call: an amount, or 0 or 1 for an operator approval. */
  after?: Hex
  confirmation: Confirmation
}

/** A call's events, and the questions about them. */
export interface AssetQuestions {
  events: AssetEvents
  questions: Question[]
}

/**
 * The questions that confirm the transfers and approvals of a request's calls.
 * @param records of all calls, with frames
 */
export function assetQuestions(records: readonly CallRecord[]): AssetQuestions[] {
  const known = new Set<Address>()
  let left = MAX_QUESTIONS
  return records.map((record) => {
    const events = assetEvents(record)
    const questions = new Map<string, Question>()
    const ask = (question: Question) => {
      const key = question.to + question.input
      if (left === 0 || questions.has(key)) return
      left -= 1
      questions.set(key, question)
    }
    for (const [asset, account] of holdings(events)) ask(holdingOf(asset, account))
    for (const approval of events.approvals) ask(allowanceOf(approval))
    for (const token of tokensIn(events)) {
      if (known.has(token)) continue
      known.add(token)
      ask(symbolOf(token))
      ask(decimalsOf(token))
    }
    return { events, questions: [...questions.values()] }
  })
}

export function noQuestions(records: readonly CallRecord[]): AssetQuestions[] {
  return records.map(() => ({ events: { transfers: [], approvals: [] }, questions: [] }))
}

/** The questions as probes. @param places of the calls, in order */
export function toProbes(asked: readonly AssetQuestions[], places: readonly Pick<Probe, 'block' | 'call'>[]): Probe[] {
  return asked.flatMap(({ questions }, index) => {
    const { block, call } = places[index]!
    return questions.map(({ to, input, isAfter = false }) => ({ block, call, to, input, isAfter }))
  })
}

/** @param asked result of `assetQuestions` @param records of the same calls, with the answers; with state if native balances are wanted */
export function assetChanges(asked: readonly AssetQuestions[], records: readonly CallRecord[]): AssetChanges[] {
  const metadata = new Map<Address, { symbol: string | undefined; decimals: number | undefined }>()
  const answers = asked.map(({ questions }, index) => {
    const probed = records[index]?.probed ?? []
    return new Map(questions.map(({ to, input }, at) => [to + input, probed[at] ?? {}]))
  })
  const answered = (at: number, { to, input }: Question): Probed => answers[at]!.get(to + input) ?? {}
  for (const [at, { events }] of asked.entries()) {
    for (const token of tokensIn(events)) {
      if (metadata.has(token) || !answers[at]!.has(token + symbolOf(token).input)) continue
      const symbol = symbolIn(answered(at, symbolOf(token)).after)
      const decimals = decimalsIn(answered(at, decimalsOf(token)).after)
      metadata.set(token, { symbol, decimals })
    }
  }
  const show = (asset: Asset): ShownAsset => {
    if (asset.type === 'native') return { type: 'native' }
    const { symbol, decimals } = metadata.get(asset.address) ?? UNNAMED
    const shown: ShownAsset = { type: asset.type, address: asset.address }
    if (asset.type !== 'erc20') shown.tokenId = toQuantity(asset.tokenId)
    if (symbol !== undefined) shown.symbol = symbol
    if (decimals !== undefined && asset.type === 'erc20') shown.decimals = decimals
    return shown
  }
  return asked.map(({ events }, at) => {
    const ask = (question: Question) => answered(at, question)
    return {
      transfers: events.transfers.map(({ asset, from, to, amount }) => ({
        ...show(asset),
        from,
        to,
        amount: toQuantity(amount),
      })),
      balances: [...nativeBalances(events, records[at]), ...tokenBalances(events, ask, show)],
      owners: ownersOf(events, ask, show),
      approvals: events.approvals.map((approval) => shownApproval(approval, ask(allowanceOf(approval)), show)),
    }
  })
}

/** Every token and account that a transfer or approval names; for ERC-721 the token alone. */
function holdings({ transfers }: AssetEvents): [Token, Address][] {
  return transfers.flatMap(({ asset, from, to }): [Token, Address][] => {
    if (asset.type === 'native') return []
    if (asset.type === 'erc721') return [[asset, to]]
    return [from, to].filter((account) => account !== ZERO_ADDRESS).map((account) => [asset, account])
  })
}

function tokensIn({ transfers, approvals }: AssetEvents): Set<Address> {
  const moved = transfers.flatMap(({ asset }) => (asset.type === 'native' ? [] : asset.address))
  return new Set([...moved, ...approvals.map(({ token }) => token)])
}

/** From the recorded state, so confirmed wherever it is recorded. The sender's balance may also have paid the fee. */
function nativeBalances({ transfers }: AssetEvents, record: CallRecord | undefined): AssetChanges['balances'] {
  const sums = new Map<Address, bigint>()
  for (const { asset, from, to, amount } of transfers) {
    if (asset.type !== 'native') continue
    sums.set(from, (sums.get(from) ?? 0n) - amount)
    sums.set(to, (sums.get(to) ?? 0n) + amount)
  }
  return [...sums].map(([account, sum]) => {
    const facts = record?.accounts.find(({ address }) => address === account)
    return {
      type: 'native',
      account,
      ...(facts && { before: toQuantity(facts.before.balance), after: toQuantity(facts.after.balance) }),
      transferred: signed(sum),
      confirmation: facts ? 'agrees' : 'unknown',
    }
  })
}

function tokenBalances(
  { transfers }: AssetEvents,
  ask: (question: Question) => Probed,
  show: (asset: Asset) => ShownAsset,
): AssetChanges['balances'] {
  const sums = new Map<string, { asset: Token; account: Address; sum: bigint }>()
  for (const { asset, from, to, amount } of transfers) {
    if (asset.type === 'native' || asset.type === 'erc721') continue
    for (const [account, moved] of [
      [from, -amount],
      [to, amount],
    ] as const) {
      if (account === ZERO_ADDRESS) continue
      const key = asset.address + (asset.type === 'erc1155' ? asset.tokenId : '') + account
      const entry = sums.get(key) ?? { asset, account, sum: 0n }
      entry.sum += moved
      sums.set(key, entry)
    }
  }
  return [...sums.values()].map(({ asset, account, sum }) => {
    const probed = ask(holdingOf(asset, account))
    const before = wordOf(probed.before)
    const after = wordOf(probed.after)
    const shown = { ...show(asset), account } as AssetChanges['balances'][number]
    if (before !== undefined) shown.before = toQuantity(before)
    if (after !== undefined) shown.after = toQuantity(after)
    shown.transferred = signed(sum)
    shown.confirmation = confirmed(before === undefined || after === undefined ? undefined : after - before === sum)
    return shown
  })
}

function ownersOf(
  { transfers }: AssetEvents,
  ask: (question: Question) => Probed,
  show: (asset: Asset) => ShownAsset,
): AssetChanges['owners'] {
  const last = new Map<string, { asset: Token; first: Address; told: Address }>()
  for (const { asset, from, to } of transfers) {
    if (asset.type !== 'erc721') continue
    const key = asset.address + asset.tokenId
    last.set(key, { asset, first: last.get(key)?.first ?? from, told: to })
  }
  return [...last.values()].map(({ asset, first, told }) => {
    const probed = ask(holdingOf(asset, told))
    // `ownerOf` reverts for a token without owner.
    const before = addressOf(probed.before) ?? (first === ZERO_ADDRESS ? ZERO_ADDRESS : undefined)
    const after = addressOf(probed.after) ?? (told === ZERO_ADDRESS ? ZERO_ADDRESS : undefined)
    const isKnown = before !== undefined && after !== undefined
    return {
      ...show(asset),
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
      told,
      confirmation: confirmed(isKnown ? before === first && after === told : undefined),
    }
  })
}

function shownApproval(approval: AssetApproval, { after }: Probed, show: (asset: Asset) => ShownAsset): ShownApproval {
  const { kind, owner, spender, token } = approval
  const shared = { kind, owner, spender, token: show({ type: 'erc20', address: token }) }
  const word = wordOf(after)
  const answered = word !== undefined && { after: toQuantity(word) }
  switch (approval.kind) {
    case 'erc20': {
      const { amount } = approval
      // A lower allowance is no contradiction: the call may have spent part of it.
      const holds = word === undefined ? undefined : word <= amount
      return { ...shared, amount: toQuantity(amount), ...answered, confirmation: confirmed(holds) }
    }
    case 'erc721': {
      const approved = addressOf(after)
      const holds = approved === undefined ? undefined : approved === spender
      const asset = show({ type: 'erc721', address: token, tokenId: approval.tokenId })
      return {
        ...shared,
        token: asset,
        tokenId: toQuantity(approval.tokenId),
        ...answered,
        confirmation: confirmed(holds),
      }
    }
    case 'operator': {
      const holds = word === undefined ? undefined : (word !== 0n) === approval.approved
      return { ...shared, approved: approval.approved, ...answered, confirmation: confirmed(holds) }
    }
    case 'permit2': {
      const { permit2, amount, expiration } = approval
      const holds = word === undefined ? undefined : word <= amount
      const terms = { permit2, amount: toQuantity(amount), expiration: toQuantity(expiration) }
      return { ...shared, ...terms, ...answered, confirmation: confirmed(holds) }
    }
  }
}

function confirmed(holds: boolean | undefined): Confirmation {
  return holds === undefined ? 'unknown' : holds ? 'agrees' : 'disagrees'
}

function signed(amount: bigint): string {
  return amount < 0n ? `-${toQuantity(-amount)}` : toQuantity(amount)
}

import type { Address, Hash, Hex } from '@upfront/protocol'
import { pad, toEventSelector } from 'viem'
import type { Log, Receipt } from './receipt.js'
import { EXACT_PROXY, type SignedTerms, TRANSFER_TOPIC, toQuantity, transferTopics } from './settlement-call.js'

const AUTHORIZATION_USED_TOPIC: Hash = toEventSelector('AuthorizationUsed(address,bytes32)')
/** What x402's exact proxy logs behind each payment. */
const SETTLED_TOPICS: ReadonlySet<string> = new Set([
  toEventSelector('Settled()'),
  toEventSelector('SettledWithPermit()'),
])

/** An authorization of `exact`, which is for anybody to settle. */
export type OpenAuthorization = Pick<
  SignedTerms,
  'kind' | 'asset' | 'payer' | 'payTo' | 'nonce' | 'maximum' | 'facilitator'
>

/**
 * The part of a transaction's receipt in which what an authorization of `exact` says was moved, whoever sent it and whatever it called: of
 * EIP-3009 by the token's own event, of Permit2 by the proxy's, which does not tell the nonce: of a transaction of the block that used it.
 * `null`: there is none.
 */
export function openPart(receipt: Receipt, authorization: OpenAuthorization): Receipt | null {
  if (!receipt.succeeded) return null
  const transfer =
    authorization.kind === 'exact-eip3009'
      ? findAuthorized(receipt, authorization)
      : findPermitted(receipt, authorization)
  return transfer === undefined ? null : borneBy(authorization.facilitator, { ...receipt, logs: [transfer] })
}

/** A transaction that somebody else sent costs the signer nothing. */
export function borneBy(signer: Address, receipt: Receipt): Receipt {
  return receipt.from === signer ? receipt : { ...receipt, gasUsed: 0n, fee: 0n }
}

/** Its event and the transfer beside it, as tokens log them one after the other. */
function findAuthorized({ logs }: Receipt, { asset, payer, nonce }: OpenAuthorization): Log | undefined {
  const topics = [AUTHORIZATION_USED_TOPIC, pad(payer), pad(toQuantity(nonce), { size: 32 })]
  const at = logs.findIndex((log) => log.address === asset && hasTopics(log, topics))
  const beside = at === -1 ? [] : [logs[at + 1], logs[at - 1]]
  return beside.find((log) => log?.address === asset && log.topics[0] === TRANSFER_TOPIC)
}

/** The transfer that stands before the proxy's event. */
function findPermitted({ logs }: Receipt, authorization: OpenAuthorization): Log | undefined {
  const { asset, maximum } = authorization
  const topics = transferTopics(authorization)
  return logs.find((log, at) => {
    return log.address === asset && hasTopics(log, topics) && BigInt(log.data) === maximum && isPermitted(logs, at)
  })
}

/** Whether the next event that the proxy or any transfer left behind this log is the proxy's. */
function isPermitted(logs: readonly Log[], at: number): boolean {
  const next = logs
    .slice(at + 1)
    .find(({ topics: [topic = ''] }) => topic === TRANSFER_TOPIC || SETTLED_TOPICS.has(topic))
  return next?.address === EXACT_PROXY && SETTLED_TOPICS.has(next.topics[0] ?? '')
}

function hasTopics(log: Log, topics: readonly Hash[]): boolean {
  return topics.every((topic, index) => log.topics[index]?.toLowerCase() === topic)
}

/** Whose EIP-3009 authorization the transfer with this log index was made by; `null`: it was made otherwise. */
export function authorizationOf(
  { logs }: Receipt,
  logIndex: number,
): { asset: Address; payer: Address; nonce: bigint } | null {
  const at = logs.findIndex((log) => log.logIndex === logIndex)
  const asset = logs[at]?.address
  const mark = [logs[at - 1], logs[at + 1]].find((log) => log?.address === asset && isMark(log))
  if (asset === undefined || mark === undefined) return null
  const [, payer, nonce] = mark.topics as [Hex, Hex, Hex]
  return { asset, payer: `0x${payer.slice(-40).toLowerCase()}` as Address, nonce: BigInt(nonce) }
}

/** Whether the transfer with this log index was made through x402's exact proxy. */
export function isByExactProxy({ logs }: Receipt, logIndex: number): boolean {
  const at = logs.findIndex((log) => log.logIndex === logIndex)
  return at !== -1 && isPermitted(logs, at)
}

function isMark(log: Log | undefined): log is Log {
  return log?.topics[0] === AUTHORIZATION_USED_TOPIC && log.topics.length === 3
}

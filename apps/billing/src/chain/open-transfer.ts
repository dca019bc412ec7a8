import type { Address, Hash, Hex } from '@upfront/protocol'
import { pad, toEventSelector } from 'viem'
import type { Log, Receipt } from './receipt.js'
import {
  addressIn,
  EXACT_PROXY,
  type SignedTerms,
  TRANSFER_TOPIC,
  toQuantity,
  transferTopics,
} from './settlement-call.js'

const AUTHORIZATION_USED_TOPIC: Hash = toEventSelector('AuthorizationUsed(address,bytes32)')
/** Logged by x402's exact proxy after each payment. */
const SETTLED_TOPICS: ReadonlySet<string> = new Set([
  toEventSelector('Settled()'),
  toEventSelector('SettledWithPermit()'),
])

/** An `exact` authorization. Anyone may settle it. */
export type OpenAuthorization = Pick<
  SignedTerms,
  'kind' | 'asset' | 'payer' | 'payTo' | 'nonce' | 'maximum' | 'facilitator'
>

/**
 * The part of a receipt that shows the transfer of an `exact` authorization, whoever sent the transaction and whichever contract it called;
 * `null` if there is none. EIP-3009: found by the token's own event. Permit2: found by the proxy's event, which does not contain the nonce,
 * so the receipt must be from the block that used the nonce.
 */
export function openPart(receipt: Receipt, authorization: OpenAuthorization): Receipt | null {
  if (!receipt.succeeded) return null
  const transfer =
    authorization.kind === 'exact-eip3009'
      ? findAuthorized(receipt, authorization)
      : findPermitted(receipt, authorization)
  return transfer === undefined
    ? null
    : zeroCostUnlessSentBy(authorization.facilitator, { ...receipt, logs: [transfer] })
}

/** Sets the cost to zero if another account sent the transaction. */
export function zeroCostUnlessSentBy(signer: Address, receipt: Receipt): Receipt {
  return receipt.from === signer ? receipt : { ...receipt, gasUsed: 0n, fee: 0n }
}

/** Finds the token's `AuthorizationUsed` event and the Transfer next to it. */
function findAuthorized({ logs }: Receipt, { asset, payer, nonce }: OpenAuthorization): Log | undefined {
  const topics = [AUTHORIZATION_USED_TOPIC, pad(payer), pad(toQuantity(nonce), { size: 32 })]
  const at = logs.findIndex((log) => log.address === asset && hasTopics(log, topics))
  const beside = at === -1 ? [] : [logs[at + 1], logs[at - 1]]
  return beside.find((log) => log?.address === asset && log.topics[0] === TRANSFER_TOPIC)
}

/** Finds the Transfer that precedes the proxy's event. */
function findPermitted({ logs }: Receipt, authorization: OpenAuthorization): Log | undefined {
  const { asset, maximum } = authorization
  const topics = transferTopics(authorization)
  return logs.find((log, at) => {
    return log.address === asset && hasTopics(log, topics) && BigInt(log.data) === maximum && isPermitted(logs, at)
  })
}

/** Whether the next Transfer or proxy event after this log is an event of the exact proxy. */
function isPermitted(logs: readonly Log[], at: number): boolean {
  const next = logs
    .slice(at + 1)
    .find(({ topics: [topic = ''] }) => topic === TRANSFER_TOPIC || SETTLED_TOPICS.has(topic))
  return next?.address === EXACT_PROXY && SETTLED_TOPICS.has(next.topics[0] ?? '')
}

function hasTopics(log: Log, topics: readonly Hash[]): boolean {
  return topics.every((topic, index) => log.topics[index]?.toLowerCase() === topic)
}

/** The EIP-3009 authorization behind the transfer with this log index; `null` if there is none. */
export function authorizationOf(
  { logs }: Receipt,
  logIndex: number,
): { asset: Address; payer: Address; nonce: bigint } | null {
  const at = logs.findIndex((log) => log.logIndex === logIndex)
  const asset = logs[at]?.address
  const mark = [logs[at - 1], logs[at + 1]].find((log) => log?.address === asset && isMark(log))
  if (asset === undefined || mark === undefined) return null
  const [, payer, nonce] = mark.topics as [Hex, Hex, Hex]
  return { asset, payer: addressIn(payer), nonce: BigInt(nonce) }
}

/** Whether x402's exact proxy made the transfer with this log index. */
export function isByExactProxy({ logs }: Receipt, logIndex: number): boolean {
  const at = logs.findIndex((log) => log.logIndex === logIndex)
  return at !== -1 && isPermitted(logs, at)
}

function isMark(log: Log | undefined): log is Log {
  return log?.topics[0] === AUTHORIZATION_USED_TOPIC && log.topics.length === 3
}

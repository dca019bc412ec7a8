import type { Address, Hash, Hex } from '@upfront/protocol'
import { pad, toEventSelector } from 'viem'
import type { Log, Receipt } from './receipt.js'
import { type NonceOf, TRANSFER_TOPIC, toQuantity } from './settlement-call.js'

const AUTHORIZATION_USED_TOPIC: Hash = toEventSelector('AuthorizationUsed(address,bytes32)')

/**
 * The part of a transaction's receipt in which a token moved what an EIP-3009 authorization says: its event and the transfer beside it,
 * as tokens log them one after the other. Anybody may have sent the transaction: its gas is not counted. `null`: there is none.
 */
export function transferPart(receipt: Receipt, { asset, payer, nonce }: Omit<NonceOf, 'kind'>): Receipt | null {
  const topics = [AUTHORIZATION_USED_TOPIC, pad(payer), pad(toQuantity(nonce), { size: 32 })]
  const at = receipt.logs.findIndex((log) => {
    return log.address === asset && topics.every((topic, index) => log.topics[index]?.toLowerCase() === topic)
  })
  const logs = at === -1 ? [] : [receipt.logs[at + 1], receipt.logs[at - 1]]
  const transfer = logs.find((log) => log?.address === asset && log.topics[0] === TRANSFER_TOPIC)
  return transfer === undefined ? null : { ...receipt, logs: [transfer], gasUsed: 0n, fee: 0n }
}

/** Whose authorization the transfer with this log index was made by; `null`: it was made otherwise. */
export function authorizationOf({ logs }: Receipt, logIndex: number): Omit<NonceOf, 'kind'> | null {
  const at = logs.findIndex((log) => log.logIndex === logIndex)
  const asset = logs[at]?.address
  const mark = [logs[at - 1], logs[at + 1]].find((log) => log?.address === asset && isMark(log))
  if (asset === undefined || mark === undefined) return null
  const [, payer, nonce] = mark.topics as [Hex, Hex, Hex]
  return { asset, payer: `0x${payer.slice(-40).toLowerCase()}` as Address, nonce: BigInt(nonce) }
}

function isMark(log: Log | undefined): log is Log {
  return log?.topics[0] === AUTHORIZATION_USED_TOPIC && log.topics.length === 3
}

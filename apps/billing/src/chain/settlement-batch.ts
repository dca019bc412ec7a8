import { readFileSync } from 'node:fs'
import type { Address, AuthorizationKind, Hex } from '@upfront/protocol'
import {
  concatHex,
  decodeFunctionData,
  encodeFunctionData,
  getCreate2Address,
  pad,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import { type BatchItem, packItems, unpackItems } from './batch-items.js'
import { type OpenAuthorization, openPart, zeroCostUnlessSentBy } from './open-transfer.js'
import type { Log, Receipt } from './receipt.js'
import { decodeSettlement, isProxy } from './settlement-call.js'

const { bytecode, deployedBytecode } = JSON.parse(
  readFileSync(new URL('../../artifacts/SettlementBatch.json', import.meta.url), 'utf8'),
) as { bytecode: Hex; deployedBytecode: Hex }

/** https://github.com/Arachnid/deterministic-deployment-proxy: the same address on every chain that has it. */
export const CREATE2_DEPLOYER: Address = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const SALT = pad('0x', { size: 32 })

/** Address of the contract deployed by {@link BATCH_DEPLOYMENT}: the same on every chain, whoever deploys it. */
export const SETTLEMENT_BATCH = getCreate2Address({
  from: CREATE2_DEPLOYER,
  salt: SALT,
  bytecode,
}).toLowerCase() as Address
export const SETTLEMENT_BATCH_CODE: Hex = deployedBytecode
/** Calldata for {@link CREATE2_DEPLOYER}. */
export const BATCH_DEPLOYMENT: Hex = concatHex([SALT, bytecode])

const delegatedTo = (contract: Address) => concatHex(['0xef0100', contract])
/** Code of an account delegated to the contract (EIP-7702). */
export const DELEGATED_CODE: Hex = delegatedTo(SETTLEMENT_BATCH)
/** Of one delegated to an earlier version. If the contract changes, the address that it had goes here. */
export const EARLIER_DELEGATED_CODES: readonly Hex[] = [
  delegatedTo('0x84adedc2579e468f714098eaa9ad2e82b2fa5530'),
  delegatedTo('0x719410a1cec14681de4ed8422ab4b9eebde1211f'),
]

const abi = parseAbi(['function settle(bytes items)'])
const SETTLE = toFunctionSelector('settle(bytes)')

/** Calldata by which a delegated account settles several payments. */
export function encodeBatch(account: Address, items: readonly BatchItem[]): Hex {
  return encodeFunctionData({ abi, functionName: 'settle', args: [packItems(account, items)] })
}

/** Decodes the items of a batch; `null` if the calldata is no batch. */
export function decodeBatch(account: Address, calldata: Hex): BatchItem[] | null {
  if (!calldata.startsWith(SETTLE)) return null
  try {
    return unpackItems(account, decodeFunctionData({ abi, data: calldata }).args[0])
  } catch {
    return null
  }
}

/** Gas of the contract itself, per item (in addition to the item's own gas) and per transaction. */
const GAS_PER_ITEM = 12_000n
const GAS_PER_BATCH = 30_000n

/**
 * Gas limit of a batch. Only 63/64 of the remaining gas can be passed to a call, and each item must get its full limit. Calldata costs at
 * least 40 gas per byte (EIP-7623).
 */
export function batchGasLimit(items: readonly BatchItem[], calldata: Hex): bigint {
  const used = items.reduce((sum, { gas }) => sum + gas + gas / 63n + GAS_PER_ITEM, GAS_PER_BATCH)
  const bytes = BigInt((calldata.length - 2) / 2)
  return used + bytes * 40n
}

/** The transaction, and the place in it, that settles a payment. */
export interface SettlementPlace extends Batched {
  kind: AuthorizationKind
  payer: Address
  nonce: bigint
  /** Contract called for the payment: a proxy, or a token with EIP-3009. */
  target: Address
}

interface Batched {
  /** Target of the transaction: the contract called for the payment, or the signer's own account for a batch of `items`. */
  to: Address
  item: number
  items: number
}

/** Decodes the settlements requested by a transaction's calldata, through a proxy or in a batch. Empty for any other transaction. */
export function settlementsOf({ to, input }: { to: Address | null; input: Hex }): SettlementPlace[] {
  if (to === null) return []
  const calls = isProxy(to) ? [{ to, call: input }] : (decodeBatch(to, input) ?? [])
  return calls.flatMap(({ to: target, call }, item) => {
    const settlement = decodeSettlement(target, call)
    return settlement === null ? [] : [{ ...settlement, target, to, item, items: calls.length }]
  })
}

/** The part of a receipt that belongs to one payment: its logs and the signer's share of gas and fee. */
export function receiptAt(receipt: Receipt, place: SettlementPlace, payment: OpenAuthorization): Receipt {
  if (place.to !== place.target) return batchPart(receipt, place)
  if (isProxy(place.to)) return zeroCostUnlessSentBy(payment.facilitator, receipt)
  return openPart(receipt, payment) ?? { ...receipt, succeeded: false, logs: [] }
}

/** Like {@link receiptAt}, for one item of a batch. */
export function batchPart(receipt: Receipt, { to, item, items }: Batched): Receipt {
  let logs: Log[] = []
  let succeeded = false
  let from = 0
  let tried = 0
  for (const [index, log] of receipt.logs.entries()) {
    if (!isMark(log, to)) continue
    if (tried === item) {
      succeeded = BigInt(log.data) === 1n
      logs = receipt.logs.slice(from, index)
    }
    from = index + 1
    tried += 1
  }
  const share = (amount: bigint) => {
    const all = BigInt(items)
    return amount / all + (item === 0 ? amount % all : 0n)
  }
  const { gasUsed, fee } = receipt
  succeeded &&= receipt.succeeded
  return { ...receipt, item, tried: item < tried, succeeded, logs, gasUsed: share(gasUsed), fee: share(fee) }
}

/** Index of the item that a log of a batch belongs to; `null` if none. `to` is the delegated account. */
export function itemOfLog({ logs }: Receipt, to: Address, logIndex: number): number | null {
  const marks = logs.filter((log) => isMark(log, to))
  const item = marks.findIndex((mark) => mark.logIndex > logIndex)
  return item === -1 ? null : item
}

/** Whether this is the marker that the contract logs after the logs of each item, in order. */
function isMark({ address, topics }: Log, to: Address): boolean {
  return address === to && topics.length === 0
}

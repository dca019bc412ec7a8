import type { Address, Hex } from '@upfront/protocol'
import { x402UptoPermit2ProxyABI as abi } from '@x402/evm'
import { BaseError, concatHex, decodeFunctionData, encodeFunctionData, encodePacked, numberToHex, size } from 'viem'
import { MAX_BATCH_ITEMS } from '../environment/chain-settings.js'
import { UPTO_PROXY } from './settlement-call.js'

export interface BatchItem {
  /** Gas limit of the item. */
  gas: bigint
  /** Call target: a proxy or a token. */
  to: Address
  call: Hex
}

/** Item kinds of `contracts/SettlementBatch.sol`. */
const RAW = 0
const PACKED_WITH_PAIR = 1
const PACKED = 2
const OTHER_TARGET = 3

/** Encodes items for the contract. `account` is the facilitator of all payments. */
export function packItems(account: Address, items: readonly BatchItem[]): Hex {
  let pair: Hex = '0x'
  const packed = items.flatMap(({ gas, to, call }) => {
    const settle = to === UPTO_PROXY ? packSettle(account, call) : null
    if (settle === null) {
      const isOther = to !== UPTO_PROXY
      const head = encodePacked(['uint8', 'uint32'], [isOther ? OTHER_TARGET : RAW, Number(gas)])
      return [head, isOther ? to : '0x', encodePacked(['uint16', 'bytes'], [size(call), call])] as Hex[]
    }
    const isNewPair = settle.pair !== pair
    pair = settle.pair
    const head = encodePacked(['uint8', 'uint32'], [isNewPair ? PACKED_WITH_PAIR : PACKED, Number(gas)])
    return [head, isNewPair ? pair : '0x', settle.terms] as Hex[]
  })
  return concatHex(packed)
}

/**
 * Inverse of {@link packItems}.
 * @throws RangeError if the data is malformed or has more than {@link MAX_BATCH_ITEMS} items
 */
export function unpackItems(account: Address, packed: Hex): BatchItem[] {
  let at = 2
  const take = (bytes: number): Hex => {
    const from = at
    at += bytes * 2
    if (at > packed.length) throw new RangeError('the items break off')
    return `0x${packed.slice(from, at)}`
  }
  const items: BatchItem[] = []
  let pair: Hex = '0x'
  while (at < packed.length) {
    const kind = Number(take(1))
    if (kind > OTHER_TARGET || items.length === MAX_BATCH_ITEMS) throw new RangeError('these are no items of a batch')
    const gas = BigInt(take(4))
    if (kind === PACKED_WITH_PAIR) pair = take(40)
    if (kind === PACKED && pair === '0x') throw new RangeError('token and recipient are missing')
    const to = kind === OTHER_TARGET ? (take(20) as Address) : UPTO_PROXY
    const isRaw = kind === RAW || kind === OTHER_TARGET
    items.push({ gas, to, call: isRaw ? take(Number(take(2))) : unpackSettle(account, pair, take) })
  }
  return items
}

/** Splits a `settle` call into token and recipient, and the rest. `null` for other calls, or if a number does not fit. */
function packSettle(account: Address, call: Hex): { pair: Hex; terms: Hex } | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi, data: call })
    if (functionName !== 'settle') return null
    const [{ permitted, nonce, deadline }, amount, payer, { to, validAfter }, signature] = args
    const pair = encodePacked(['address', 'address'], [permitted.token, to])
    const terms = concatHex([
      numberToHex(size(signature), { size: 2 }),
      numberToHex(deadline, { size: 5 }),
      numberToHex(validAfter, { size: 5 }),
      numberToHex(amount, { size: 16 }),
      numberToHex(permitted.amount, { size: 12 }),
      payer,
      numberToHex(nonce, { size: 32 }),
      signature,
    ]).toLowerCase() as Hex
    // Accepts only calls that the contract rebuilds exactly: same facilitator, standard encoding.
    const item = encodePacked(['uint8', 'uint32', 'bytes', 'bytes'], [PACKED_WITH_PAIR, 0, pair, terms])
    return unpackItems(account, item)[0]?.call === call.toLowerCase() ? { pair, terms } : null
  } catch (error) {
    if (error instanceof BaseError) return null
    throw error
  }
}

function unpackSettle(account: Address, pair: Hex, take: (bytes: number) => Hex): Hex {
  const signatureBytes = Number(take(2))
  const [deadline, validAfter, amount, maximum] = [take(5), take(5), take(16), take(12)].map(BigInt) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ]
  const payer = take(20)
  const nonce = BigInt(take(32))
  const permitted = { token: pair.slice(0, 42) as Hex, amount: maximum }
  const witness = { to: `0x${pair.slice(42)}` as Hex, facilitator: account, validAfter }
  const args = [{ permitted, nonce, deadline }, amount, payer, witness, take(signatureBytes)] as const
  return encodeFunctionData({ abi, functionName: 'settle', args })
}

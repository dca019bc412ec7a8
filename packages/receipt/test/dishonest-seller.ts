import { privateKeyToAccount } from 'viem/accounts'
import {
  type ChargeStatement,
  jsonHash,
  meter,
  NO_WITNESS,
  type PaidExchange,
  type PriceList,
  type SignedReceipt,
  signReceipt,
} from '../src/index.js'
import { checkSettlement, RECEIPT_KEY } from './sale.js'

export type Json = Record<string | number, unknown>

/** The answer to a single call, as `sell` makes it. */
export interface SoldAnswer {
  result: Json[]
  charge: ChargeStatement
  receipt: SignedReceipt
  witness?: Json
  [name: string]: unknown
}

export const answerOf = (exchange: PaidExchange) => exchange.answer as SoldAnswer

const account = privateKeyToAccount(RECEIPT_KEY)

/**
 * The exchange with a changed answer that the seller signed again; hashes of request, result, witness and price list match it.
 * @param fitted also recomputes charge, amount and settlement from the receipt's usage
 */
export async function signedAnew(
  exchange: PaidExchange,
  change: (answer: SoldAnswer) => void,
  fitted = false,
): Promise<PaidExchange> {
  const copy = structuredClone(exchange)
  const answer = answerOf(copy)
  change(answer)
  const { signature: _, signer: __, ...receipt } = answer.receipt
  const { method, params } = copy.request.body as { method: string; params: unknown }
  receipt.requestHash = jsonHash({ method, params })
  receipt.resultHash = jsonHash(answer.result)
  receipt.witnessHash = answer.witness === undefined ? NO_WITNESS : jsonHash(answer.witness)
  receipt.usage.witnessBytes = answer.witness === undefined ? 0 : JSON.stringify(answer.witness).length
  answer.charge.usage.witnessBytes = receipt.usage.witnessBytes
  receipt.priceListHash = jsonHash(answer.charge.priceList)
  if (fitted) {
    const { accounts, slots, witnessBytes } = receipt.usage
    const gas = receipt.usage.gas.reduce((sum, used) => sum + BigInt(used), 0n)
    const list = answer.charge.priceList as PriceList
    const maximum = BigInt(receipt.maximum)
    receipt.amount = meter({ gas, accounts, slots, witnessBytes }, list, receipt.decimals, maximum).toString()
    const { amount, asset, network } = receipt
    answer.charge = {
      ...{ amount, maximum: receipt.maximum, asset, network, priceList: list },
      usage: { gas: gas.toString(), accounts, slots, witnessBytes },
    }
    copy.settlement = JSON.parse(JSON.stringify(await checkSettlement(amount)))
  }
  answer.receipt = await signReceipt(receipt, account)
  return copy
}

/** The paths of all values, including empty lists and objects. */
export function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path]
  const below = Object.entries(value).flatMap(([name, field]) =>
    pathsOf(field, [...path, Array.isArray(value) ? Number(name) : name]),
  )
  return below.length === 0 ? [path] : below
}

export function changedAt<T>(value: T, path: readonly (string | number)[], change: (value: unknown) => unknown): T {
  const copy = structuredClone(value) as Json
  const parent = path.slice(0, -1).reduce((inner, name) => inner[name] as Json, copy)
  const name = path.at(-1)!
  parent[name] = change(parent[name])
  return JSON.parse(JSON.stringify(copy))
}

export function another(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (Array.isArray(value)) return ['0x']
  if (typeof value !== 'string') return { extra: '0x1' }
  const last = value.at(-1)
  return value.slice(0, -1) + (last === '1' ? '2' : '1')
}

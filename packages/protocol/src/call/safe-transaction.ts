import { decodeAddress, decodeBytes } from '../decode/bytes.js'
import { mismatch, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeBoolean, decodeObject, rejectUnknown } from '../decode/structure.js'
import { type Address, type Hex, ZERO_ADDRESS } from '../hex.js'

/** A transaction that a Safe's owners sign, and how to simulate it. */
export interface SafeTransaction {
  safe: Address
  to: Address
  value: bigint
  data: Hex
  /** 0: call, 1: delegate call. */
  operation: 0 | 1
  safeTxGas: bigint
  baseGas: bigint
  gasPrice: bigint
  gasToken: Address
  refundReceiver: Address
  /** Absent: the Safe's next nonce. */
  nonce?: bigint
  /** False simulates the Safe without its guard. */
  guard: boolean
  /** The sender; by default the owner with the lowest address. */
  executor?: Address
}

const GAS_FIELDS = ['safeTxGas', 'baseGas', 'gasPrice'] as const
const FIELDS = ['safe', 'to', 'value', 'data', 'operation', ...GAS_FIELDS, 'gasToken', 'refundReceiver', 'nonce']
const OPTIONS = ['guard', 'executor']
const KNOWN = [...FIELDS, ...OPTIONS]
const ALIASES = { guards: 'guard', from: 'executor', dataGas: 'baseGas', safeAddress: 'safe' }

/**
 * Decodes a Safe transaction. Numbers are hex quantities, or decimals as in Safe's service and typed data.
 * @throws DecodeError with the place of the error
 */
export function decodeSafeTransaction(value: unknown, place: Place): SafeTransaction {
  const fields = decodeObject(value, "a Safe's transaction", place)
  rejectUnknown(fields, KNOWN, ALIASES, place)
  const given = (name: string) => fields[name] ?? undefined
  const number = (name: string) => (given(name) === undefined ? 0n : decodeNumber(fields[name], place, name))
  const address = (name: string) =>
    given(name) === undefined ? ZERO_ADDRESS : decodeAddress(fields[name], place, name)
  const operation = number('operation')
  if (operation > 1n)
    throw mismatch(new Place(place, 'operation'), '0 (a call) or 1 (a delegate call)', fields.operation)
  return {
    safe: decodeAddress(fields.safe, place, 'safe'),
    to: decodeAddress(fields.to, place, 'to'),
    value: number('value'),
    data: given('data') === undefined ? '0x' : decodeBytes(fields.data, place, 'data'),
    operation: operation === 1n ? 1 : 0,
    safeTxGas: number('safeTxGas'),
    baseGas: number('baseGas'),
    gasPrice: number('gasPrice'),
    gasToken: address('gasToken'),
    refundReceiver: address('refundReceiver'),
    ...(given('nonce') !== undefined && { nonce: number('nonce') }),
    guard: given('guard') === undefined || decodeBoolean(fields.guard, place, 'guard'),
    ...(given('executor') !== undefined && { executor: decodeAddress(fields.executor, place, 'executor') }),
  }
}

function decodeNumber(value: unknown, place: Place, name: string): bigint {
  const isDecimal =
    typeof value === 'number' ? Number.isSafeInteger(value) && value >= 0 : /^\d{1,78}$/.test(String(value))
  if (!isDecimal) return decodeQuantity(value, 256, place, name)
  const number = BigInt(value as string)
  if (number >> 256n !== 0n) throw mismatch(new Place(place, name), 'a number of at most 256 bits', value)
  return number
}

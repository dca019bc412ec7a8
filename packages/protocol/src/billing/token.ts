import {
  decodeAddressField,
  decodeInteger,
  decodeNetwork,
  decodeObject,
  decodeString,
  type Network,
} from '../decode/fields.js'
import type { Address } from '../hex.js'

/** A token that billing settles. `name` and `version` are those of its EIP-712 domain, as in an offer's `extra`. */
export interface Token {
  network: Network
  asset: Address
  name: string
  version: string
  decimals: number
}

/** For example, `1500000` with 6 decimals → `1.5`. */
export function formatUnits(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** @throws DecodeError */
export function decodeToken(value: unknown, field = 'token'): Token {
  const object = decodeObject(value, field)
  return {
    network: decodeNetwork(object.network, `${field}.network`),
    asset: decodeAddressField(object.asset, `${field}.asset`),
    name: decodeString(object.name, `${field}.name`),
    version: decodeString(object.version, `${field}.version`),
    decimals: decodeInteger(object.decimals, `${field}.decimals`, 0, 77),
  }
}

import {
  decodeAddressField,
  decodeInteger,
  decodeNetwork,
  decodeObject,
  decodeString,
  type Network,
} from '../decode/fields.js'
import type { Address } from '../hex.js'

/** A token that billing settles. `name` and `version` are its EIP-712 domain's, as an offer's `extra` carries them. */
export interface Token {
  network: Network
  asset: Address
  name: string
  version: string
  decimals: number
}

/** Throws {@link DecodeError}. */
export function decodeToken(value: unknown): Token {
  const object = decodeObject(value, 'token')
  return {
    network: decodeNetwork(object.network, 'token.network'),
    asset: decodeAddressField(object.asset, 'token.asset'),
    name: decodeString(object.name, 'token.name'),
    version: decodeString(object.version, 'token.version'),
    decimals: decodeInteger(object.decimals, 'token.decimals', 0, 77),
  }
}

import {
  type Address,
  decodeAddressField,
  decodeList,
  decodeObject,
  decodeSecret,
  decodeString,
  type Hex,
  invalidField,
  refuseUnknownFields,
} from '@upfront/protocol'
import { readJsonFile } from '@upfront/service'

/** The key that signs receipts, and retired keys. */
export interface ReceiptKeys {
  privateKey: Hex
  retired: RetiredKey[]
}

interface RetiredKey {
  address: Address
  /** When it stopped signing, in seconds since 1970. */
  until: number
}

/** 32 bytes of hex, not zero. */
const PRIVATE_KEY = /^0x(?!0+$)[0-9a-fA-F]{64}$/

/**
 * Reads `RECEIPT_KEYS_FILE`: `{"key": "0x…", "retired": [{"address": "0x…", "until": "2026-11-22T00:00:00Z"}]}`.
 * @throws DecodeError that names the field and quotes no key
 */
export function readReceiptKeysFile(path: string): ReceiptKeys {
  const file = decodeObject(readJsonFile(path), 'the file')
  refuseUnknownFields(file, '', ['key', 'retired'])
  return {
    privateKey: decodeSecret(file.key, PRIVATE_KEY, 'key', 'a private key of 0x and 64 hex digits') as Hex,
    retired: decodeList(file.retired ?? [], 'retired').map((entry, index) => {
      const at = `retired[${index}]`
      const { address, until } = decodeObject(entry, at)
      const time = Date.parse(decodeString(until, `${at}.until`))
      if (Number.isNaN(time)) throw invalidField(`${at}.until`, 'expected a time such as "2026-11-22T00:00:00Z"')
      return { address: decodeAddressField(address, `${at}.address`), until: Math.floor(time / 1_000) }
    }),
  }
}

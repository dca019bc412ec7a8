import type { Address, Hex } from '@upfront/protocol'
import { readTextFile } from '@upfront/service'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'

/** A key that sends settlements and pays for their gas. */
export interface SignerKey {
  /** Lower case. */
  address: Address
  account: PrivateKeyAccount
}

/**
 * Decodes private keys separated by commas or white space.
 * @throws Error that identifies a key by position, never by value
 */
export function decodeSignerKeys(text: string): SignerKey[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== '')
  if (words.length === 0) throw new Error('holds no key')
  const problems: string[] = []
  const keys = words.flatMap((word, index) => {
    const key = decodeKey(word)
    if (key === null) problems.push(`key ${index + 1} is not a 32-byte hex private key`)
    return key ?? []
  })
  const addresses = keys.map((key) => key.address)
  if (new Set(addresses).size < addresses.length) problems.push('holds the same key twice')
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return keys
}

/** Like {@link decodeSignerKeys}, from a file. */
export function readSignerKeyFile(path: string): SignerKey[] {
  return decodeSignerKeys(readTextFile(path))
}

function decodeKey(word: string): SignerKey | null {
  const hex = word.startsWith('0x') ? word : `0x${word}`
  if (!/^0x[0-9a-fA-F]{64}$/.test(hex)) return null
  try {
    const account = privateKeyToAccount(hex as Hex)
    return { address: account.address.toLowerCase() as Address, account }
  } catch {
    return null
  }
}

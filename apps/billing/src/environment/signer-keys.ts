import type { Address, Hex } from '@upfront/protocol'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { EnvironmentError } from './environment.js'

/** A key that pays for and sends settlements. */
export interface SignerKey {
  /** Lower case. */
  address: Address
  account: PrivateKeyAccount
}

/** Private keys, separated by commas or white space. Throws {@link EnvironmentError} by position, never by value. */
export function parseSignerKeys(text: string, variable: string): SignerKey[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== '')
  if (words.length === 0) throw new EnvironmentError([`${variable}: holds no key`])
  const problems: string[] = []
  const keys = words.flatMap((word, index) => {
    const key = parseKey(word)
    if (key === null) problems.push(`${variable}: key ${index + 1} is not a 32-byte hex private key`)
    return key ?? []
  })
  const addresses = keys.map((key) => key.address)
  if (new Set(addresses).size < addresses.length) problems.push(`${variable}: holds the same key twice`)
  if (problems.length > 0) throw new EnvironmentError(problems)
  return keys
}

function parseKey(word: string): SignerKey | null {
  const hex = word.startsWith('0x') ? word : `0x${word}`
  if (!/^0x[0-9a-fA-F]{64}$/.test(hex)) return null
  try {
    const account = privateKeyToAccount(hex as Hex)
    return { address: account.address.toLowerCase() as Address, account }
  } catch {
    return null
  }
}

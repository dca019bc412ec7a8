import { type Address, checksumAddress } from 'viem'
import { KNOWN_CONTRACTS } from './names/known-contracts.js'

/** For example `0x1234…abcd`, checksummed (EIP-55). */
export function shortAddress(address: string): string {
  const whole = /^0x[0-9a-f]{40}$/i.test(address) ? checksumAddress(address.toLowerCase() as Address) : address
  return `${whole.slice(0, 6)}…${whole.slice(-4)}`
}

/** The name of a contract that all chains have, otherwise the shortened address. */
export function addressName(address: string): string {
  return KNOWN_CONTRACTS[address.toLowerCase()] ?? shortAddress(address)
}

import { type Hex, toHex } from 'viem'
import { draftWith, EMPTY_CALL } from '../request/draft.js'
import { demandChain, hexOf, type PasteContext, type Pasted, pasteError } from './pasted.js'

/** Addresses of entry points, the same on every chain (ERC-4337). */
const ENTRY_POINTS: Record<string, Hex> = {
  '0.7': '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
  '0.8': '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108',
}
/** Given next to the operation but not part of it. */
const NOT_PART = ['chainId', 'entryPoint', 'entryPointAddress', 'hash', 'userOpHash']
const QUANTITIES = /^(nonce|.*Gas|.*GasLimit|max.*FeePerGas)$/

/** Whether it looks like a user operation, of any entry point. */
export function isUserOperation(given: Record<string, unknown>): boolean {
  return 'sender' in given && 'callData' in given
}

/**
 * A user operation, as executed by the entry point.
 * @param entryPoint that of the request, if given
 */
export function userOperation(given: Record<string, unknown>, entryPoint: unknown, context: PasteContext): Pasted {
  demandChain(given.chainId, context)
  if (hexOf(given.sender)?.length !== 42) throw pasteError('sender: not an address of 20 bytes')
  const operation = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      NOT_PART.includes(name) || value === null ? [] : [[name, QUANTITIES.test(name) ? quantity(name, value) : value]],
    ),
  )
  const named = hexOf(entryPoint ?? given.entryPoint ?? given.entryPointAddress)
  const version = given.eip7702Auth ? '0.8' : '0.7'
  const call = { userOperation: operation, entryPoint: named ?? ENTRY_POINTS[version] }
  return {
    kind: 'User operation',
    draft: draftWith([{ ...EMPTY_CALL, more: JSON.stringify(call, null, 2) }]),
    notes: named === undefined ? [`It names no entry point: that of v${version} is assumed`] : [],
  }
}

/** Some libraries write numbers in decimal. */
function quantity(name: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw pasteError(`${name}: too large for JSON: write it in quotes`)
  return /^\d{1,78}$/.test(String(value)) ? toHex(BigInt(value as string)) : value
}

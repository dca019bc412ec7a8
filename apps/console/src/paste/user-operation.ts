import { type Address, type Hex, hexToBigInt, slice, toHex } from 'viem'
import { type CallDraft, draftWith, EMPTY_CALL, textOf } from '../request/draft.js'
import { demandChain, hexOf, type PasteContext, type Pasted, pasteError } from './pasted.js'

/** ERC-4337's entry points, and who creates accounts for them. */
const ENTRY_POINTS = {
  '0.6': {
    address: '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789',
    creator: '0x7fc98430eAEdbb6070B35B39D798725049088348',
  },
  '0.7': {
    address: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
    creator: '0xEFC2c1444eBCC4Db75e7613d20C6a62fF67A167C',
  },
} as const
const NO_CODE_NEEDED = '0x'

/** Whether it looks like a user operation of any entry point. */
export function isUserOperation(given: Record<string, unknown>): boolean {
  return 'sender' in given && 'callData' in given
}

/**
 * A user operation as what its account does: the entry point's own call of it, after the account was made where it is new.
 * @param entryPoint the request's, where it names one
 */
export function userOperation(given: Record<string, unknown>, entryPoint: unknown, context: PasteContext): Pasted {
  demandChain(given.chainId, context)
  const sender = hexOf(given.sender)
  const callData = hexOf(given.callData)
  if (sender?.length !== 42) throw pasteError('sender: not an address of 20 bytes')
  if (callData === undefined) throw pasteError('callData: not 0x-hex')
  const version = 'initCode' in given && 'callGasLimit' in given ? '0.6' : '0.7'
  const { address, creator } = ENTRY_POINTS[version]
  const from = (hexOf(entryPoint)?.length === 42 ? entryPoint : address) as Address
  const calls: CallDraft[] = []
  const init = initOf(given)
  if (init !== undefined) calls.push({ ...EMPTY_CALL, from: creator, to: init.factory, data: init.data })
  const { eip7702Auth } = given
  calls.push({
    ...EMPTY_CALL,
    ...{ from, to: sender, data: callData, gas: gasOf(given) },
    more: eip7702Auth ? JSON.stringify({ authorizationList: [eip7702Auth] }) : '',
  })
  const notes = [
    'Shown is what the account does once the entry point calls it; the signature, the paymaster and the fees are not checked',
  ]
  const paymaster = hexOf(given.paymaster) ?? hexOf(given.paymasterAndData)
  if (paymaster !== undefined && paymaster.length >= 42) notes.push(`Its fees are paid by ${slice(paymaster, 0, 20)}`)
  return { kind: `User operation (entry point ${version})`, draft: draftWith(calls), notes }
}

function initOf({
  initCode,
  factory,
  factoryData,
}: Record<string, unknown>): { factory: Hex; data: string } | undefined {
  const code = hexOf(initCode)
  if (code !== undefined && code.length >= 42)
    return { factory: slice(code, 0, 20), data: code.length > 42 ? slice(code, 20) : NO_CODE_NEEDED }
  const made = hexOf(factory)
  return made?.length === 42 ? { factory: made, data: textOf(factoryData) } : undefined
}

function gasOf({ callGasLimit, accountGasLimits }: Record<string, unknown>): string {
  const packed = hexOf(accountGasLimits)
  // Verification gas in the first 16 bytes, the call's in the others.
  return packed?.length === 66 ? toHex(hexToBigInt(slice(packed, 16))) : textOf(callGasLimit)
}

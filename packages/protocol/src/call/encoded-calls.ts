import { decodeAddress, decodeBytes } from '../decode/bytes.js'
import { DecodeError, Place } from '../decode/decode-error.js'
import { decodeArray, decodeObject, rejectUnknown } from '../decode/structure.js'
import { type Address, type Hex, ZERO_ADDRESS } from '../hex.js'
import { decodeCall } from '../simulate/decode-call.js'
import type { Call } from '../simulate/simulation-request.js'
import { decodeSafeTransaction, type SafeTransaction } from './safe-transaction.js'
import { decodeUserOperation, type UserOperation } from './user-operation.js'

/** Position of a call that is given in another form. */
export interface CallPosition {
  /** Index in `blockStateCalls`, and in its `calls`. */
  block: number
  call: number
  /** Its path in the request, for errors. */
  place: string
}

/** A call given as a signed transaction. */
export interface SignedTransactionCall extends CallPosition {
  raw: Hex
}

/** A call given as a user operation (ERC-4337) or as a Safe transaction. */
export type AccountCall = CallPosition &
  (
    | { kind: 'userOperation'; operation: UserOperation; entryPoint: Address }
    | { kind: 'safe'; transaction: SafeTransaction }
  )

/** Pending transactions as calls. Signed ones are decoded once the chain is known. */
export interface WaitingCalls {
  calls: Call[]
  signed: SignedTransactionCall[]
}

/** Each is executed again together with the calls that it may precede. */
export const MAX_WAITING_CALLS = 32

/**
 * Decodes transactions given as call objects or as signed hex.
 * @throws DecodeError with the place of the error
 */
export function decodeWaitingCalls(value: unknown, name: string): WaitingCalls {
  const place = new Place(undefined, name)
  const entries = decodeArray(value, 'an array of transactions', undefined, name)
  if (entries.length > MAX_WAITING_CALLS)
    throw new DecodeError(place, `expected at most ${MAX_WAITING_CALLS} transactions, got ${entries.length}`)
  const signed: SignedTransactionCall[] = []
  const calls = entries.map((entry, call) => {
    const at = new Place(place, call)
    if (typeof entry !== 'string') return decodeCall(entry, at)
    signed.push({ block: 0, call, place: at.toString(), raw: decodeBytes(entry, place, call) })
    return {}
  })
  return { calls, signed }
}

/** Each takes several runs. */
const MAX_ACCOUNT_CALLS = 8
const FORMS = ['userOperation', 'safeTransaction'] as const

/**
 * Extracts calls that are not call objects from a payload: signed transactions in hex, `{ userOperation, entryPoint }` and
 * `{ safeTransaction }`. Empty calls replace them until the chain is known.
 * @throws DecodeError with the place of the error
 */
export function extractEncodedCalls(payload: Record<string, unknown>): {
  signed: SignedTransactionCall[]
  accounts: AccountCall[]
} {
  const signed: SignedTransactionCall[] = []
  const accounts: AccountCall[] = []
  const { blockStateCalls } = payload
  const callsIn = (block: unknown) => {
    const calls = (block as { calls?: unknown } | null)?.calls
    return Array.isArray(calls) && calls.some(isEncodedCall) ? calls : undefined
  }
  if (!Array.isArray(blockStateCalls) || !blockStateCalls.some(callsIn)) return { signed, accounts }
  const blocks = new Place(undefined, 'blockStateCalls')
  payload.blockStateCalls = blockStateCalls.map((given, block) => {
    const calls = callsIn(given)?.map((entry, call) => {
      if (!isEncodedCall(entry)) return entry
      const place = new Place(new Place(new Place(blocks, block), 'calls'), call)
      const position = { block, call, place: place.toString() }
      if (typeof entry === 'string') signed.push({ ...position, raw: decodeBytes(entry, place.parent, call) })
      else accounts.push({ ...position, ...decodeAccountCall(entry, place) })
      return { to: ZERO_ADDRESS }
    })
    return calls === undefined ? given : { ...given, calls }
  })
  if (accounts.length > MAX_ACCOUNT_CALLS)
    throw new DecodeError(
      blocks,
      `at most ${MAX_ACCOUNT_CALLS} user operations and Safe transactions in a request, got ${accounts.length}`,
    )
  return { signed, accounts }
}

function isEncodedCall(call: unknown): call is string | object {
  if (typeof call === 'string') return true
  return typeof call === 'object' && call !== null && FORMS.some((name) => name in call)
}

function decodeAccountCall(entry: object, place: Place) {
  const fields = decodeObject(entry, 'a call', place)
  if ('safeTransaction' in fields) {
    rejectUnknown(fields, ['safeTransaction'], {}, place)
    const transaction = decodeSafeTransaction(fields.safeTransaction, new Place(place, 'safeTransaction'))
    return { kind: 'safe' as const, transaction }
  }
  rejectUnknown(fields, ['userOperation', 'entryPoint'], {}, place)
  return {
    kind: 'userOperation' as const,
    operation: decodeUserOperation(fields.userOperation, new Place(place, 'userOperation')),
    entryPoint: decodeAddress(fields.entryPoint, place, 'entryPoint'),
  }
}

import { type Hex, isAddress, isHex } from 'viem'
import { draftWith, EMPTY_CALL } from '../request/draft.js'
import { FieldLabel } from '../request/draft-error.js'
import { isObject, jsonValue } from '../request/json.js'
import { draftOfFragment, requestOfFragment } from '../request/link.js'
import { minedTransaction } from './mined-transaction.js'
import { type PasteContext, type Pasted, pasteError } from './pasted.js'
import { callRequest, pastedCall, sendCalls, simulateRequest } from './request-json.js'
import { isSafeTransaction, safeTransaction } from './safe-transaction.js'
import { signedTransaction } from './signed-transaction.js'
import { isUserOperation, userOperation } from './user-operation.js'

const SELECTOR_LENGTH = 10

/**
 * Recognises pasted text: a signed transaction, a transaction hash, calldata, an address, a link to this page, a wallet's or node's JSON of
 * a transaction, a JSON-RPC request, a user operation, a Safe transaction.
 * @throws DraftError with the reason if it is invalid
 */
export async function pastedDraft(pasted: string, context: PasteContext): Promise<Pasted> {
  const text = pasted.trim().replace(/^"(0x[0-9a-f]*)"$/i, '$1')
  if (isHex(text)) return hexDraft(text, context)
  if (/^https?:/.test(text) && text.includes('#')) {
    const fragment = text.slice(text.indexOf('#'))
    const request = requestOfFragment(fragment)
    if (request !== undefined) return pastedDraft(request, context)
    const draft = draftOfFragment(fragment)
    if (draft !== undefined) return { kind: 'Link to this page', draft, notes: [] }
  }
  if (!/^[[{]/.test(text)) throw pasteError('neither 0x-hex nor JSON')
  const given = jsonValue(text, new FieldLabel('Pasted text', 'paste'))
  if (Array.isArray(given) && isObject(given[0]) && 'blockStateCalls' in given[0])
    return simulateRequest(given[0], given[1], context)
  const meant = Array.isArray(given) && given.length === 1 ? given[0] : given
  if (!isObject(meant)) throw pasteError('not a single object')
  return Array.isArray(meant.params) ? requestDraft(meant.params, meant.method, context) : objectDraft(meant, context)
}

async function hexDraft(bytes: Hex, context: PasteContext): Promise<Pasted> {
  const [block, ...others] = context.draft.blocks
  const [call, ...rest] = block!.calls
  const inForm = (fields: object) => ({
    ...context.draft,
    blocks: [{ ...block!, calls: [{ ...call!, ...fields }, ...rest] }, ...others],
  })
  const isOfAccount: boolean = isAddress(bytes, { strict: false })
  if (isOfAccount) return { kind: 'Address', draft: inForm({ to: bytes }), notes: [] }
  if (bytes.length === 66) return minedTransaction(bytes, context)
  const signed = await signedTransaction(bytes, context)
  if (signed !== undefined) return signed
  // A selector, followed by 32-byte words.
  if (bytes.length >= SELECTOR_LENGTH && (bytes.length - SELECTOR_LENGTH) % 64 === 0)
    return { kind: 'Calldata', draft: inForm({ data: bytes }), notes: [] }
  throw pasteError('neither a signed transaction, nor a hash of 32 bytes, nor calldata (4 bytes, then words of 32)')
}

async function requestDraft(params: unknown[], method: unknown, context: PasteContext): Promise<Pasted> {
  const [first, second] = params
  if (method === 'eth_sendRawTransaction' && typeof first === 'string' && isHex(first)) {
    const signed = await signedTransaction(first, context)
    if (signed !== undefined) return signed
    throw pasteError('params[0]: not a signed transaction')
  }
  if (typeof method === 'string' && /^eth_signTypedData/.test(method) && second !== undefined)
    return objectDraft(typeof second === 'string' ? parsed(second) : (second as Record<string, unknown>), context)
  if (!isObject(first)) throw pasteError('the request has no parameters that could be simulated')
  if ('blockStateCalls' in first) return simulateRequest(first, second, context)
  if (isUserOperation(first)) return userOperation(first, second, context)
  if (
    method === 'eth_call' ||
    method === 'eth_estimateGas' ||
    method === 'eth_createAccessList' ||
    method === 'debug_traceCall'
  )
    return callRequest(method, params, context)
  return objectDraft(first, context)
}

async function objectDraft(given: Record<string, unknown>, context: PasteContext): Promise<Pasted> {
  if ('blockStateCalls' in given) return simulateRequest(given, undefined, context)
  if (isUserOperation(given)) return userOperation(given, given.entryPoint, context)
  if (isSafeTransaction(given)) return safeTransaction(given, context)
  if (typeof given.primaryType === 'string')
    throw pasteError(
      `a signature over “${given.primaryType}”: it sends nothing by itself, but whoever has it can use it, as with a permit to take tokens; what it allows can’t be simulated`,
    )
  if (Array.isArray(given.calls)) return sendCalls(given, context)
  for (const name of ['tx', 'transaction', 'txParams', 'transactionRequest', 'rawTransaction', 'raw']) {
    const inner = given[name]
    if (isObject(inner)) return objectDraft({ chainId: given.chainId, ...inner }, context)
    if (typeof inner === 'string' && isHex(inner) && inner.length > 66) return hexDraft(inner, context)
  }
  if (!['to', 'data', 'input', 'value'].some((name) => name in given))
    throw pasteError('JSON, but not a transaction or request that the console knows')
  const notes: string[] = []
  const call = pastedCall(given, notes, context)
  return { kind: 'Transaction in a wallet’s format', draft: draftWith([{ ...EMPTY_CALL, ...call }]), notes }
}

function parsed(text: string): Record<string, unknown> {
  const value = jsonValue(text, new FieldLabel('Pasted text', 'paste'))
  if (!isObject(value)) throw pasteError('not a single object')
  return value
}

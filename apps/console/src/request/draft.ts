import {
  type Abi,
  type AbiFunction,
  type Address,
  encodeFunctionData,
  type Hex,
  isAddress,
  isHex,
  parseAbiItem,
  parseEther,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerialized,
  toHex,
} from 'viem'

/** A call as it is typed. */
export interface CallDraft {
  from: string
  to: string
  /** Ether as a decimal number, or wei as 0x-hex. */
  value: string
  /** 0x-hex; or a function's signature with its arguments as JSON: `transfer(address,uint256) ["0x…", "1"]`. */
  data: string
}

/** A request as it is typed: calls in one block, and state overrides as JSON. */
export interface Draft {
  calls: CallDraft[]
  overrides: string
}

/** What was typed and can't be sent: names the field. */
export class DraftError extends Error {}

export const EMPTY_CALL: CallDraft = { from: '', to: '', value: '', data: '' }
export const EMPTY_DRAFT: Draft = { calls: [EMPTY_CALL], overrides: '' }

interface Call {
  from?: Address
  to?: Address
  value?: Hex
  input?: Hex
}

/** The first parameter of `eth_simulateV1`. */
export interface SimulatePayload {
  blockStateCalls: [{ stateOverrides?: object; calls: Call[] }]
  traceTransfers: true
}

/** @throws DraftError */
export function payloadOf({ calls, overrides }: Draft): SimulatePayload {
  const stateOverrides = overrides.trim() === '' ? undefined : jsonObject(overrides, 'State overrides')
  const block = { ...(stateOverrides && { stateOverrides }), calls: calls.map(callOf) }
  return { blockStateCalls: [block], traceTransfers: true }
}

function callOf(draft: CallDraft, index: number): Call {
  const name = (field: string) => `Call ${index + 1}, ${field}`
  const from = address(draft.from, name('from'))
  const to = address(draft.to, name('to'))
  const value = amount(draft.value, name('value'))
  const input = calldata(draft.data, name('data'))
  return { ...(from && { from }), ...(to && { to }), ...(value && { value }), ...(input && { input }) }
}

function address(text: string, field: string): Address | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (!isAddress(typed, { strict: false })) throw new DraftError(`${field}: not an address of 20 bytes`)
  return typed
}

function amount(text: string, field: string): Hex | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (/^0x[0-9a-f]+$/i.test(typed)) return toHex(BigInt(typed))
  if (!/^\d+(\.\d{1,18})?$/.test(typed)) throw new DraftError(`${field}: neither ether, as 0.01, nor wei, as 0x1`)
  return toHex(parseEther(typed))
}

function calldata(text: string, field: string): Hex | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (isHex(typed) && typed.length % 2 === 0) return typed
  const [, signature, args = '[]'] = /^([^[]+\))\s*(\[.*\])?$/s.exec(typed) ?? []
  if (signature === undefined) {
    throw new DraftError(
      `${field}: neither 0x-hex nor a function with arguments, as transfer(address,uint256) ["0x…", "1"]`,
    )
  }
  try {
    const item = parseAbiItem(`function ${signature.replace(/^function\s+/, '')}`) as AbiFunction
    return encodeFunctionData({ abi: [item] as Abi, functionName: item.name, args: JSON.parse(args) })
  } catch (error) {
    throw new DraftError(`${field}: ${(error as Error).message.split('\n')[0]}`)
  }
}

function jsonObject(text: string, field: string): object {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new DraftError(`${field}: not JSON`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DraftError(`${field}: not an object`)
  return value
}

/**
 * What is meant by a pasted text: a signed transaction, a wallet's JSON of one, an `eth_simulateV1` or `eth_sendTransaction` request.
 * @throws DraftError
 */
export async function draftFrom(pasted: string): Promise<Draft> {
  const text = pasted.trim()
  if (isHex(text)) return { calls: [await signedCall(text)], overrides: '' }
  const given = jsonObject(text, 'Pasted text') as { params?: unknown[]; blockStateCalls?: unknown }
  const meant = Array.isArray(given.params) ? given.params[0] : given
  if (typeof meant !== 'object' || meant === null) throw new DraftError('Pasted text: the request has no parameters')
  const { blockStateCalls } = meant as { blockStateCalls?: unknown }
  if (blockStateCalls === undefined) return { calls: [draftOf(meant)], overrides: '' }
  if (!Array.isArray(blockStateCalls) || blockStateCalls.length !== 1) {
    throw new DraftError('Pasted text: the form holds one block')
  }
  const [{ calls = [], stateOverrides }] = blockStateCalls as [{ calls?: object[]; stateOverrides?: object }]
  return {
    calls: calls.length === 0 ? [EMPTY_CALL] : calls.map(draftOf),
    overrides: stateOverrides === undefined ? '' : JSON.stringify(stateOverrides, null, 2),
  }
}

async function signedCall(text: Hex): Promise<CallDraft> {
  try {
    const { to, value, data } = parseTransaction(text)
    const from = await recoverTransactionAddress({ serializedTransaction: text as TransactionSerialized })
    return { from, to: to ?? '', value: value ? toHex(value) : '', data: data ?? '' }
  } catch {
    throw new DraftError('Pasted text: not a signed transaction')
  }
}

function draftOf(call: object): CallDraft {
  const { from, to, value, input, data } = call as Record<string, unknown>
  const text = (given: unknown) => (typeof given === 'string' || typeof given === 'number' ? String(given) : '')
  const wei =
    typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? toHex(BigInt(value)) : value
  return { from: text(from), to: text(to), value: text(wei), data: text(input ?? data) }
}

/** For the link: after the `#`, so that it never reaches a server. */
export function fragmentOf(draft: Draft): string {
  return encodeURIComponent(JSON.stringify(draft))
}

/** What `fragmentOf` made; undefined where it is none of it. */
export function draftOfFragment(fragment: string): Draft | undefined {
  try {
    const { calls, overrides } = JSON.parse(decodeURIComponent(fragment.replace(/^#/, ''))) as Partial<Draft>
    if (!Array.isArray(calls) || calls.length === 0 || typeof overrides !== 'string') return undefined
    return { calls: calls.map(draftOf), overrides }
  } catch {
    return undefined
  }
}

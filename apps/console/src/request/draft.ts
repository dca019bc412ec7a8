import {
  type Abi,
  type AbiFunction,
  type Address,
  encodeFunctionData,
  type Hex,
  isAddress,
  isHex,
  pad,
  parseAbiItem,
  parseEther,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerialized,
  toHex,
} from 'viem'
import { callTextOf } from './abi.js'
import { DraftError } from './draft-error.js'

/** A call as it is typed. */
export interface CallDraft {
  from: string
  to: string
  /** Ether as a decimal number, or wei as 0x-hex. */
  value: string
  /** 0x-hex; or a function's signature with its arguments as JSON: `transfer(address,uint256) ["0x…", "1"]`. */
  data: string
}

/** What is overridden of one account before a block's calls; an empty field is left as it is. */
export interface AccountDraft {
  address: string
  /** As a call's value. */
  balance: string
  nonce: string
  code: string
  slot: string
  value: string
}

/** A block as it is typed. */
export interface BlockDraft {
  calls: CallDraft[]
  /** State overrides by form; several of one account are put together. */
  accounts: AccountDraft[]
  /** State overrides as JSON. */
  overrides: string
  number: string
  time: string
  baseFee: string
}

/** A request as it is typed. */
export interface Draft {
  blocks: BlockDraft[]
  /** To choose functions from, and to decode what comes back. */
  abi: string
}

export const EMPTY_CALL: CallDraft = { from: '', to: '', value: '', data: '' }
export const EMPTY_ACCOUNT: AccountDraft = { address: '', balance: '', nonce: '', code: '', slot: '', value: '' }
export const EMPTY_BLOCK: BlockDraft = {
  ...{ calls: [EMPTY_CALL], accounts: [], overrides: '' },
  ...{ number: '', time: '', baseFee: '' },
}
export const EMPTY_DRAFT: Draft = { blocks: [EMPTY_BLOCK], abi: '' }

interface Call {
  from?: Address
  to?: Address
  value?: Hex
  input?: Hex
}

/** The first parameter of `eth_simulateV1`. */
export interface SimulatePayload {
  blockStateCalls: { blockOverrides?: object; stateOverrides?: object; calls: Call[] }[]
  traceTransfers: true
}

/** @throws DraftError */
export function payloadOf({ blocks }: Draft): SimulatePayload {
  return {
    blockStateCalls: blocks.map((block, index) => blockOf(block, blocks.length > 1 ? `Block ${index + 1}, ` : '')),
    traceTransfers: true,
  }
}

function blockOf({ calls, accounts, overrides, number, time, baseFee }: BlockDraft, block: string) {
  const given = overrides.trim() === '' ? {} : jsonObject(overrides, `${block}State overrides`)
  const stateOverrides = accounts.reduce(
    (all, account, at) => withAccount(all, account, `${block}Account ${at + 1}`),
    given,
  )
  const fields = {
    number: whole(number, `${block}Block number`),
    time: whole(time, `${block}Time`),
    baseFeePerGas: whole(baseFee, `${block}Base fee`),
  }
  const blockOverrides = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  return {
    ...(Object.keys(blockOverrides).length > 0 && { blockOverrides }),
    ...(Object.keys(stateOverrides).length > 0 && { stateOverrides }),
    calls: calls.map((call, index) => callOf(call, index, block)),
  }
}

type StateOverrides = Record<string, { stateDiff?: object }>

function withAccount(all: object, draft: AccountDraft, name: string): StateOverrides {
  const overrides = all as StateOverrides
  const at = address(draft.address, `${name}, address`)
  if (at === undefined) throw new DraftError(`${name}, address: is missing`)
  const balance = amount(draft.balance, `${name}, balance`)
  const nonce = whole(draft.nonce, `${name}, nonce`)
  const code = draft.code.trim()
  if (code !== '' && (!isHex(code) || code.length % 2 !== 0)) throw new DraftError(`${name}, code: not 0x-hex`)
  const slot = word(draft.slot, `${name}, storage slot`)
  const value = word(draft.value, `${name}, what the slot holds`)
  if ((slot === undefined) !== (value === undefined))
    throw new DraftError(`${name}, storage slot: give the slot and what it holds`)
  const before = overrides[at]
  return {
    ...overrides,
    [at]: {
      ...before,
      ...(balance && { balance }),
      ...(nonce && { nonce }),
      ...(code && { code }),
      ...(slot && value && { stateDiff: { ...before?.stateDiff, [slot]: value } }),
    },
  }
}

/** @param index of the call, for the name of a field that is wrong @throws DraftError */
export function callOf(draft: CallDraft, index: number, block = ''): Call {
  const name = (field: string) => `${block}Call ${index + 1}, ${field}`
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

function whole(text: string, field: string): Hex | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (!/^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(typed)) throw new DraftError(`${field}: not a whole number`)
  return toHex(BigInt(typed))
}

/** 32 bytes: a number, or hex that is filled up with zeros. */
function word(text: string, field: string): Hex | undefined {
  const number = whole(text, field)
  return number === undefined ? undefined : pad(number.length % 2 === 0 ? number : `0x0${number.slice(2)}`)
}

function calldata(text: string, field: string): Hex | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (isHex(typed) && typed.length % 2 === 0) return typed
  const call = callTextOf(typed)
  if (call === undefined) {
    throw new DraftError(
      `${field}: neither 0x-hex nor a function with arguments, as transfer(address,uint256) ["0x…", "1"]`,
    )
  }
  try {
    const item = parseAbiItem(`function ${call.signature}`) as AbiFunction
    return encodeFunctionData({ abi: [item] as Abi, functionName: item.name, args: JSON.parse(call.args) })
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
  if (isHex(text)) return draftWith([await signedCall(text)])
  const given = jsonObject(text, 'Pasted text') as { params?: unknown[]; blockStateCalls?: unknown }
  const meant = Array.isArray(given.params) ? given.params[0] : given
  if (typeof meant !== 'object' || meant === null) throw new DraftError('Pasted text: the request has no parameters')
  const { blockStateCalls } = meant as { blockStateCalls?: unknown }
  if (blockStateCalls === undefined) return draftWith([draftOf(meant)])
  if (!Array.isArray(blockStateCalls) || blockStateCalls.length === 0)
    throw new DraftError('Pasted text: the request has no blocks')
  return { blocks: blockStateCalls.map(pastedBlock), abi: '' }
}

function draftWith(calls: CallDraft[]): Draft {
  return { blocks: [{ ...EMPTY_BLOCK, calls }], abi: '' }
}

function pastedBlock(block: {
  calls?: object[]
  stateOverrides?: object
  blockOverrides?: Record<string, unknown>
}): BlockDraft {
  const { calls = [], stateOverrides, blockOverrides: { number, time, baseFeePerGas, ...other } = {} } = block ?? {}
  const [unknown] = Object.keys(other)
  if (unknown !== undefined) throw new DraftError(`Pasted text: the form has no field for ${unknown} of a block`)
  return {
    ...EMPTY_BLOCK,
    calls: calls.length === 0 ? [EMPTY_CALL] : calls.map(draftOf),
    overrides: stateOverrides === undefined ? '' : JSON.stringify(stateOverrides, null, 2),
    ...{ number: textOf(number), time: textOf(time), baseFee: textOf(baseFeePerGas) },
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
  const wei =
    typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? toHex(BigInt(value)) : value
  return { from: textOf(from), to: textOf(to), value: textOf(wei), data: textOf(input ?? data) }
}

function textOf(given: unknown): string {
  return typeof given === 'string' || typeof given === 'number' ? String(given) : ''
}

/** For the link: after the `#`, so that it never reaches a server. */
export function fragmentOf(draft: Draft): string {
  return encodeURIComponent(JSON.stringify(draft))
}

/** What `fragmentOf` made, or made when a request was one block; undefined where it is none of it. */
export function draftOfFragment(fragment: string): Draft | undefined {
  try {
    const linked = JSON.parse(decodeURIComponent(fragment.replace(/^#/, ''))) as Partial<Draft & BlockDraft>
    const { abi, blocks = [linked as BlockDraft] } = linked
    if (blocks.length === 0 || blocks.some(({ calls }) => !Array.isArray(calls) || calls.length === 0)) return undefined
    return { blocks: blocks.map(linkedBlock), abi: textOf(abi) }
  } catch {
    return undefined
  }
}

function linkedBlock({ calls, accounts = [], overrides, number, time, baseFee }: BlockDraft): BlockDraft {
  return {
    calls: calls.map((call) => ({ ...EMPTY_CALL, ...texts(call) })),
    accounts: accounts.map((account) => ({ ...EMPTY_ACCOUNT, ...texts(account) })),
    ...{ overrides: textOf(overrides), number: textOf(number), time: textOf(time), baseFee: textOf(baseFee) },
  }
}

function texts(fields: object): Record<string, string> {
  if (fields === null) throw new DraftError('The link: not a call')
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, textOf(value)]))
}

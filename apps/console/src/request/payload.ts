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
  toHex,
} from 'viem'
import { callTextOf } from './abi.js'
import type { AccountDraft, BlockDraft, CallDraft, Draft } from './draft.js'
import { DraftError } from './draft-error.js'
import { jsonObject, wholeNumbers } from './json.js'

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

/** What is sent for a draft. @throws DraftError */
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

/** @param index of the call, for errors, which name the field @throws DraftError */
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
  if (!/^\d+(\.\d{1,18})?$/.test(typed))
    throw new DraftError(`${field}: expected ether, such as 0.01, or wei, such as 0x1`)
  return toHex(parseEther(typed))
}

function whole(text: string, field: string): Hex | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (!/^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(typed)) throw new DraftError(`${field}: not a whole number`)
  return toHex(BigInt(typed))
}

/** 32 bytes: a number, or hex padded with zeros. */
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
      `${field}: expected 0x-hex, or a function with its arguments, such as transfer(address,uint256) ["0x…", "1"]`,
    )
  }
  try {
    const item = parseAbiItem(`function ${call.signature}`) as AbiFunction
    return encodeFunctionData({
      abi: [item] as Abi,
      functionName: item.name,
      args: JSON.parse(call.args, wholeNumbers),
    })
  } catch (error) {
    throw new DraftError(`${field}: ${(error as Error).message.split('\n')[0]}`)
  }
}

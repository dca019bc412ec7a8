import type { Address, Hex } from 'viem'
import type { AccountDraft, BlockDraft, CallDraft, Draft } from './draft.js'
import { FieldLabel } from './draft-error.js'
import { address, amount, calldata, whole, word } from './fields.js'
import { isObject, jsonObject, jsonValue } from './json.js'

/** The fields of an `eth_simulateV1` call that the page uses. */
export interface Call {
  from?: Address
  to?: Address
  value?: Hex
  input?: Hex
  gas?: Hex
  nonce?: Hex
  authorizationList?: unknown
  [field: string]: unknown
}

/** State overrides by address. */
export type StateOverrides = Record<string, Record<string, unknown>>

/** The first parameter of `eth_simulateV1`. */
export interface SimulatePayload {
  blockStateCalls: { blockOverrides?: object; stateOverrides?: StateOverrides; calls: Call[] }[]
  traceTransfers: true
  validation?: true
}

/** The payload of a draft. @throws DraftError */
export function payloadOf({ blocks, validation }: Draft): SimulatePayload {
  return {
    blockStateCalls: blocks.map((block, at) =>
      blockOf(block, new FieldLabel(blocks.length > 1 ? `Block ${at + 1}` : '', `blocks.${at}`)),
    ),
    traceTransfers: true,
    ...(validation !== '' && { validation: true }),
  }
}

/** Number of calls in each block before those that are shown. @throws DraftError */
export function callsBefore({ blocks }: Draft): number[] {
  return blocks.map(({ before }, at) => beforeOf(before, new FieldLabel('', `blocks.${at}`)).length)
}

function blockOf(block: BlockDraft, place: FieldLabel) {
  const given =
    block.overrides.trim() === '' ? {} : jsonObject(block.overrides, place.at('State overrides', 'overrides'))
  const stateOverrides = block.accounts.reduce(
    (all, account, at) => withAccount(all, account, place.at(`Account ${at + 1}`, `accounts.${at}`)),
    given as StateOverrides,
  )
  const blockOverrides = {
    ...(block.more.trim() !== '' && jsonObject(block.more, place.at('Other fields of the block', 'more'))),
    ...present({
      number: whole(block.number, place.at('Block number', 'number')),
      time: whole(block.time, place.at('Time', 'time')),
      baseFeePerGas: whole(block.baseFee, place.at('Base fee', 'baseFee')),
    }),
  }
  return {
    ...(Object.keys(blockOverrides).length > 0 && { blockOverrides }),
    ...(Object.keys(stateOverrides).length > 0 && { stateOverrides }),
    calls: [
      ...beforeOf(block.before, place),
      ...block.calls.map((call, at) => callOf(call, place.at(`Call ${at + 1}`, `calls.${at}`))),
    ],
  }
}

function beforeOf(text: string, place: FieldLabel): Call[] {
  if (text.trim() === '') return []
  const field = place.at('Calls before', 'before')
  const list = jsonValue(text, field)
  if (!Array.isArray(list) || !list.every(isObject)) throw field.error('not a list of calls')
  return list as Call[]
}

function withAccount(overrides: StateOverrides, draft: AccountDraft, place: FieldLabel): StateOverrides {
  const field = (name: keyof AccountDraft, label: string = name) => place.at(label, name)
  const at = address(draft.address, field('address'))
  if (at === undefined) throw field('address').error('is missing')
  const balance = amount(draft.balance, field('balance'))
  const nonce = whole(draft.nonce, field('nonce'))
  const code = draft.code.trim()
  if (code !== '' && !/^0x([0-9a-f]{2})*$/i.test(code)) throw field('code').error('not 0x-hex')
  const slot = word(draft.slot, field('slot', 'storage slot'))
  const value = word(draft.value, field('value', 'value of the slot'))
  if ((slot === undefined) !== (value === undefined))
    throw field('slot', 'storage slot').error('enter the slot and its value')
  const before = overrides[at] as { stateDiff?: object } | undefined
  return {
    ...overrides,
    [at]: {
      ...before,
      ...present({ balance, nonce, code: code === '' ? undefined : code }),
      ...(slot && value && { stateDiff: { ...before?.stateDiff, [slot]: value } }),
    },
  }
}

/** @throws DraftError */
export function callOf(draft: CallDraft, place: FieldLabel): Call {
  const field = (name: keyof CallDraft, label: string = name) => place.at(label, name)
  return {
    ...(draft.more.trim() !== '' && jsonObject(draft.more, field('more', 'other fields'))),
    ...present({
      from: address(draft.from, field('from')),
      to: address(draft.to, field('to')),
      value: amount(draft.value, field('value')),
      input: calldata(draft.data, field('data')),
      gas: whole(draft.gas, field('gas')),
      nonce: whole(draft.nonce, field('nonce')),
      maxFeePerGas: whole(draft.maxFeePerGas, field('maxFeePerGas', 'max fee')),
      maxPriorityFeePerGas: whole(draft.maxPriorityFeePerGas, field('maxPriorityFeePerGas', 'priority fee')),
      gasPrice: whole(draft.gasPrice, field('gasPrice', 'gas price')),
    }),
  }
}

function present(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

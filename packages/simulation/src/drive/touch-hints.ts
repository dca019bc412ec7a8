import type { UpstreamCall } from '@upfront/node'
import { decodeFixedBytes, decodeWord, malformed } from '@upfront/node'
import { type Address, type Hash, type StateOverride, toQuantity, ZERO_ADDRESS } from '@upfront/protocol'
import type { StateRead } from '../engine/state.js'
import type { PlannedCall, SimulationPlan } from '../plan/simulation-plan.js'
import type { BlockReference } from './read-call.js'

const HINT_BYTES = 4 * 1024 * 1024
/** Gas limit for a hint. A call that runs out still names what it touched before. */
const HINT_GAS = 3_000_000n
const MAX_OVERRIDDEN_ACCOUNTS = 100
/** Limit of input and overrides: longer ones take milliseconds of the event loop to serialize. */
const MAX_DIGITS = 500_000
/** Rank above any input length. */
const FIRST = 2 ** 32
/** Balance of the sender in a hint, so that it never lacks funds. */
const RICH = toQuantity(1n << 120n)

/**
 * Called with the missing values before they are read. `round` counts from 1. May return a function to wait for before the work resumes,
 * called after the read.
 */
export type OnLack = (lacking: readonly StateRead[], round: number) => (() => Promise<unknown> | undefined) | undefined

/** One call with all overrides up to its block. */
export interface HintedCall {
  call: Pick<PlannedCall, 'from' | 'to' | 'input' | 'value' | 'gas'>
  overrides: readonly StateOverride[]
}

/** The call to ask about, if any may be sent: the first with the longest input, as it likely touches most; calls to `to` go before. */
export function hintedCall(plan: SimulationPlan, to: ReadonlySet<Address>): HintedCall | undefined {
  let overrides: StateOverride[] = []
  let hinted: HintedCall | undefined
  for (const block of plan.blocks) {
    if (block.stateOverrides.length > 0) overrides = [...overrides, ...block.stateOverrides]
    if (overrides.length > MAX_OVERRIDDEN_ACCOUNTS) break
    for (const call of block.calls) {
      if (call.to === null || call.input.length > MAX_DIGITS) continue
      if (rank(call, to) > (hinted === undefined ? '0x'.length : rank(hinted.call, to))) hinted = { call, overrides }
    }
  }
  return hinted
}

function rank({ to, input }: HintedCall['call'], first: ReadonlySet<Address>): number {
  return input.length > '0x'.length && to !== null && first.has(to) ? FIRST + input.length : input.length
}

/** `debug_traceCall` with the prestate tracer, without code if the node supports that. */
export function prestateHint(
  { call, overrides }: HintedCall,
  at: BlockReference,
): UpstreamCall<StateRead[]> | undefined {
  const stateOverrides = overridesToRpc(call.from, overrides)
  if (stateOverrides === undefined) return undefined
  return {
    method: 'debug_traceCall',
    params: [
      callToRpc(call),
      at,
      { tracer: 'prestateTracer', tracerConfig: { disableCode: true }, timeout: '1s', stateOverrides },
    ],
    decode: touchedInPrestate,
    maxBytes: HINT_BYTES,
    attempts: 1,
    pace: 'slow',
  }
}

/** `eth_createAccessList`, with overrides only if the node supports them. */
export function accessListHint(
  { call, overrides }: HintedCall,
  at: BlockReference,
  withOverrides: boolean,
): UpstreamCall<StateRead[]> | undefined {
  const stateOverrides = withOverrides ? overridesToRpc(call.from, overrides) : undefined
  if (withOverrides && stateOverrides === undefined) return undefined
  return {
    method: 'eth_createAccessList',
    params: [callToRpc(call), at, ...(stateOverrides === undefined ? [] : [stateOverrides])],
    decode: touchedInAccessList,
    maxBytes: HINT_BYTES,
    attempts: 1,
    pace: 'slow',
  }
}

function callToRpc(call: HintedCall['call']): Record<string, unknown> {
  const gas = call.gas === undefined || call.gas > HINT_GAS ? HINT_GAS : call.gas
  return {
    from: call.from,
    ...(call.to !== null && { to: call.to }),
    input: call.input,
    value: toQuantity(call.value),
    gas: toQuantity(gas),
  }
}

/** Undefined if they are too long to send. */
function overridesToRpc(sender: Address, overrides: readonly StateOverride[]): Record<Address, unknown> | undefined {
  const accounts: Record<Address, Record<string, unknown>> = {}
  let digits = 0
  for (const { address, balance, nonce, code, state, stateDiff } of overrides) {
    digits += (code?.length ?? 0) + 132 * ((state?.length ?? 0) + (stateDiff?.length ?? 0))
    accounts[address] = {
      ...accounts[address],
      ...(balance !== undefined && { balance: toQuantity(balance) }),
      ...(nonce !== undefined && { nonce: toQuantity(nonce) }),
      ...(code !== undefined && { code }),
      ...(state !== undefined && { state: Object.fromEntries(state) }),
      ...(stateDiff !== undefined && state === undefined && { stateDiff: Object.fromEntries(stateDiff) }),
    }
  }
  if (digits > MAX_DIGITS) return undefined
  accounts[sender] = { ...accounts[sender], balance: RICH }
  return accounts
}

export function touchedInPrestate(result: unknown): StateRead[] {
  return Object.entries(asObject(result)).flatMap(([key, account]) => {
    const address = decodeFixedBytes(key, 20)
    return [...accountReads(address), ...storageReads(address, Object.keys(asObject(asObject(account).storage ?? {})))]
  })
}

function touchedInAccessList(result: unknown): StateRead[] {
  const { accessList } = asObject(result)
  if (!Array.isArray(accessList)) throw malformed('an access list', accessList)
  return accessList.flatMap((entry: unknown) => {
    const { address: key, storageKeys } = asObject(entry)
    const address = decodeFixedBytes(key, 20)
    return [...accountReads(address), ...storageReads(address, Array.isArray(storageKeys) ? storageKeys : [])]
  })
}

/** Empty for precompiles. */
export function accountReads(address: Address): StateRead[] {
  if (BigInt(address) <= 0x100n && address !== ZERO_ADDRESS) return []
  return [
    { kind: 'balance', address },
    { kind: 'nonce', address },
    { kind: 'code', address },
  ]
}

function storageReads(address: Address, slots: unknown[]): StateRead[] {
  return slots.map((slot) => ({ kind: 'storage', address, slot: decodeWord(slot) as Hash }))
}

export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw malformed('an object', value)
  return value as Record<string, unknown>
}

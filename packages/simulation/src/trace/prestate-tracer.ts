import { type Address, type Hash, type Hex, type PrestateTracerConfig, toQuantity, ZERO_HASH } from '@upfront/protocol'
import type { AccountFacts, CallRecord, RecordedAccount } from '../engine/call-record.js'

/** An account in geth's prestateTracer format (eth/tracers/native/prestate.go). Empty fields are left out. */
export interface PrestateAccount {
  balance?: Hex
  code?: Hex
  codeHash?: Hash
  nonce?: number
  storage?: Record<Hash, Hash>
}

export type Prestate = Record<Address, PrestateAccount>

const NO_CODE: Hash = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

/** The state that the call read, as before the call, with sorted keys; with `diffMode` the changed state before and after. */
export function prestate(
  { accounts }: CallRecord,
  config: PrestateTracerConfig = {},
): Prestate | { post: Prestate; pre: Prestate } {
  const read = accounts
    .filter(({ isRead }) => isRead)
    .sort((one, other) => (one.address < other.address ? -1 : 1))
    .map((account) => ({
      ...account,
      slots: [...account.slots].sort((one, other) => (one.slot < other.slot ? -1 : 1)),
    }))
  if (config.diffMode) return difference(read, config)
  const pre: Prestate = {}
  for (const account of read) {
    if (isEmpty(account.before) && !config.includeEmpty) continue
    pre[account.address] = presentBefore(account, config)
  }
  return pre
}

function difference(read: RecordedAccount[], config: PrestateTracerConfig): { post: Prestate; pre: Prestate } {
  const pre: Prestate = {}
  const post: Prestate = {}
  for (const account of read) {
    const { address, before } = account
    const after = account.isRemoved ? undefined : presentAfter(account, config)
    if (after !== undefined) post[address] = after
    else if (!account.isRemoved) continue
    if (isEmpty(before)) continue
    pre[address] = presentBefore(account, config, !account.isRemoved)
  }
  return { post, pre }
}

/** geth leaves out accounts that were empty before the call, without checking their storage. */
function isEmpty({ balance, nonce, code }: AccountFacts): boolean {
  return balance === 0n && nonce === 0n && (code === undefined || code === '0x')
}

function presentBefore(
  { before, slots }: RecordedAccount,
  { disableCode, disableStorage }: PrestateTracerConfig,
  changedOnly = false,
): PrestateAccount {
  const { balance, nonce, code = '0x', codeHash } = before
  const storage: Record<Hash, Hash> = {}
  for (const slot of disableStorage ? [] : slots) {
    if (!slot.isRead || (changedOnly && (slot.before === ZERO_HASH || slot.before === slot.after))) continue
    storage[slot.slot] = slot.before
  }
  return {
    balance: toQuantity(balance),
    ...(code !== '0x' && !disableCode && { code }),
    ...(code !== '0x' && { codeHash }),
    ...(nonce > 0n && { nonce: Number(nonce) }),
    ...(Object.keys(storage).length > 0 && { storage }),
  }
}

/** The account's changed fields; undefined if there are none. */
function presentAfter(
  { before, after, slots }: RecordedAccount,
  { disableCode, disableStorage }: PrestateTracerConfig,
): PrestateAccount | undefined {
  const changed = slots.filter((slot) => slot.isRead && !disableStorage && slot.before !== slot.after)
  const kept = changed.filter((slot) => slot.after !== ZERO_HASH)
  // geth gives a missing account a zero code hash and compares that with the empty code's hash.
  const codeHash = after.exists ? after.codeHash : ZERO_HASH
  const codeHashBefore = before.code === undefined || before.code === '0x' ? NO_CODE : before.codeHash
  const newCode = after.code !== undefined && after.code !== before.code && !disableCode
  const fields: PrestateAccount = {
    ...(after.balance !== before.balance && { balance: toQuantity(after.balance) }),
    ...(newCode && { code: after.code! }),
    ...(codeHash !== codeHashBefore && { codeHash }),
    ...(after.nonce !== before.nonce && after.nonce > 0n && { nonce: Number(after.nonce) }),
    ...(kept.length > 0 && { storage: Object.fromEntries(kept.map((slot) => [slot.slot, slot.after])) }),
  }
  const isModified = Object.keys(fields).length > 0 || changed.length > 0 || after.nonce !== before.nonce
  return isModified ? fields : undefined
}

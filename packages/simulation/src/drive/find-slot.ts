import type { Address, TokenSetting } from '@upfront/protocol'
import { allowanceOf, holdingOf, type Question } from '../assets/questions.js'
import type { CallRecord } from '../engine/call-record.js'
import { FIELD_PROBES, fieldOf, ONES, placed, type SlotField, type TokenLayouts } from '../tokens/token-layouts.js'
import { answerIn, answerWith, probe, type SlotValue } from './prober.js'
import type { Rehearsal } from './rehearsal.js'

/** A token amount that can't be set; the message says why. */
export class NotSettable extends Error {
  override readonly name = 'NotSettable'
}

/** Unused addresses. A slot that the view also reads for them is not the owner's alone. */
const STRANGERS: readonly Address[] = [`0x5eed${'a7'.repeat(18)}`, `0x5eed${'3c'.repeat(18)}`]
/** A view of one amount with more owner-specific slots than this is given up. */
const MAX_OWN = 8
/** A number that a token is unlikely to return by itself. */
const PATTERN = BigInt(`0x${'6b1d93a5'.repeat(8)}`)
const ROUNDS = 8
/** For rounded shares: values tried on each side of the estimate. */
const NEIGHBOURS = 2n

/** The view that returns the amount of a setting. */
export function questionOf({ token, owner, spender }: TokenSetting): Question {
  return spender === undefined
    ? holdingOf({ type: 'erc20', address: token }, owner)
    : allowanceOf({ kind: 'erc20', token, owner, spender, amount: 0n })
}

interface OwnSlot extends SlotValue {
  /** `value` is the slot's current value; `code` identifies the view and the code it ran. */
  code: string
}

/**
 * The slot and value with which the token's own view returns the amount; undefined if it already does. A slot is accepted only if the view
 * reads it for this owner (and spender) alone and returns zero while the slot is zero.
 * @param layouts fields found earlier, if they may be used
 * @throws NotSettable; what the runs do
 */
export async function findSlot(
  setting: TokenSetting,
  rehearsal: Rehearsal,
  layouts: TokenLayouts | undefined,
): Promise<SlotValue | undefined> {
  const question = questionOf(setting)
  const view = setting.spender === undefined ? 'balanceOf' : 'allowance'
  const [own, ...strange] = await probe(rehearsal, [question, ...settingsOfStrangers(setting).map(questionOf)])
  const answer = answerIn(own)
  if (answer === undefined) throw new NotSettable(`${view} of ${setting.token} returns no number`)
  if (answer === setting.amount) return undefined
  const slots = ownSlots(own!, strange, view)
  if (slots.length === 0)
    throw new NotSettable(`${view} of ${setting.token} reads no slot that belongs to this holder alone`)
  if (slots.length > MAX_OWN)
    throw new NotSettable(
      `${view} of ${setting.token} reads ${slots.length} slots of this holder, and at most ${MAX_OWN} are tried`,
    )
  const known = slots.length === 1 ? layouts?.get(slots[0]!.code) : undefined
  if (known !== undefined) {
    const value = await trySetField(slots[0]!, known, setting.amount, question, rehearsal).catch(ignoreNotSettable)
    if (value !== undefined) return value
  }
  const found: SlotValue[] = []
  const reasons: string[] = []
  for (const slot of slots) {
    try {
      const value = await findSlotValue(slot, question, setting.amount, rehearsal, layouts)
      if (value !== undefined) found.push(value)
    } catch (error) {
      if (!(error instanceof NotSettable)) throw error
      reasons.push(error.message)
    }
  }
  const [only, other] = found
  if (only === undefined)
    throw new NotSettable(reasons[0] ?? `${view} of ${setting.token} reads no single slot that holds the amount`)
  if (other !== undefined)
    throw new NotSettable(
      `${view} of ${setting.token} depends on several slots (${found.map(({ slot }) => slot).join(', ')}): set them with stateDiff`,
    )
  return only
}

/** The same code may store another owner's amount differently. */
function ignoreNotSettable(error: unknown): undefined {
  if (!(error instanceof NotSettable)) throw error
}

function settingsOfStrangers({ spender, ...setting }: TokenSetting): TokenSetting[] {
  const [one, other] = STRANGERS as [Address, Address]
  if (spender === undefined) return [one, other].map((owner) => ({ ...setting, owner }))
  return [
    { ...setting, spender: one },
    { ...setting, owner: other, spender },
  ]
}

/** The slots read for this setting and for no stranger. */
function ownSlots(own: CallRecord, strange: readonly CallRecord[], view: string): OwnSlot[] {
  const shared = new Set(strange.flatMap(slotsRead).map(({ address, slot }) => address + slot))
  const code = `${view} ${codeHashesOf(own)}`
  return slotsRead(own)
    .filter(({ address, slot }) => !shared.has(address + slot))
    .map((slot) => ({ ...slot, code }))
}

function slotsRead({ accounts }: CallRecord): SlotValue[] {
  return accounts.flatMap(({ address, slots }) =>
    slots.flatMap(({ slot, isRead, before }) => (isRead ? [{ address, slot, value: BigInt(before) }] : [])),
  )
}

/** The hashes of all code that ran, a proxy's and its implementation's. */
function codeHashesOf({ frames, accounts }: CallRecord): string {
  const ran = new Set(frames.map(({ to }) => to))
  return accounts.flatMap(({ address, before }) => (ran.has(address) ? [before.codeHash] : [])).join(' ')
}

/** The slot with the amount in the given field; undefined if the view then returns something else. */
async function trySetField(
  slot: SlotValue,
  field: SlotField,
  amount: bigint,
  question: Question,
  rehearsal: Rehearsal,
): Promise<SlotValue | undefined> {
  if (amount >> BigInt(field.width) !== 0n)
    throw new NotSettable(`the token stores it in ${field.width} bits: at most ${(1n << BigInt(field.width)) - 1n}`)
  const set = { ...slot, value: placed(slot.value, field, amount) }
  return (await answerWith(rehearsal, question, set)) === amount ? set : undefined
}

/** The slot value for which the view returns the amount; undefined if the view does not follow the slot. */
async function findSlotValue(
  slot: OwnSlot,
  question: Question,
  amount: bigint,
  rehearsal: Rehearsal,
  layouts: TokenLayouts | undefined,
): Promise<SlotValue | undefined> {
  const ask = (value: bigint) => answerWith(rehearsal, question, { ...slot, value })
  const answers: (bigint | undefined)[] = []
  for (const value of FIELD_PROBES) answers.push(await ask(value))
  // Not the slot of the amount: the view returns something even if it is zero.
  if (answers[0] !== 0n) return undefined
  const field = fieldOf(answers)
  if (field !== undefined) {
    const other = PATTERN & ((1n << BigInt(field.width)) - 1n)
    if ((await ask(placed(slot.value, field, other))) === other) {
      const set = await trySetField(slot, field, amount, question, rehearsal)
      if (set !== undefined) layouts?.set(slot.code, field)
      return set
    }
  }
  return findScaledValue(slot, amount, ask)
}

/** The slot value if the view scales it (rebasing tokens) or refuses large numbers. */
async function findScaledValue(
  slot: SlotValue,
  amount: bigint,
  ask: (value: bigint) => Promise<bigint | undefined>,
): Promise<SlotValue | undefined> {
  let highest: { bit: bigint; answer: bigint } | undefined
  let grows = false
  let misses = 0
  for (let bit = 0n; bit < 256n && misses < 3; bit += 8n) {
    const answer = await ask(1n << bit)
    if (answer !== undefined && answer > (highest?.answer ?? 0n)) {
      grows = highest !== undefined
      highest = { bit, answer }
    } else if (highest !== undefined) misses += 1
  }
  if (highest === undefined || !grows) return undefined
  const { bit } = highest
  const most = (1n << (bit + 8n)) - 1n
  const kept = slot.value & (ONES ^ most)
  const bounded = (value: bigint) => (value < 0n ? 0n : value > most ? most : value)
  // The rest of the slot may influence the result.
  const perUnit = (await ask(kept | (1n << bit))) || highest.answer
  const scaled = (difference: bigint) => (difference << bit) / perUnit
  let value = bounded(scaled(amount))
  let nearest: bigint | undefined
  for (let round = 0; round < ROUNDS; round++) {
    const answer = await ask(kept | value)
    if (answer === undefined) return undefined
    if (answer === amount) return { ...slot, value: kept | value }
    nearest = answer
    const next = bounded(value + scaled(amount - answer))
    if (next === value) break
    value = next
  }
  for (let step = -NEIGHBOURS; step <= NEIGHBOURS; step++) {
    const near = bounded(value + step)
    if ((await ask(kept | near)) === amount) return { ...slot, value: kept | near }
  }
  throw new NotSettable(
    `the token counts in shares, and no number of shares gives exactly this amount: the nearest is ${nearest}`,
  )
}

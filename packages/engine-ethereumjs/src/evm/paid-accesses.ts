import type { Address } from '@upfront/protocol'
import { memoryEnd, wordsOf } from '@upfront/simulation'
import type { AccessJournal } from '../state/access-journal.js'
import { delegationTarget } from '../state/account-record.js'
import { hash32, hexOf } from '../state/bytes.js'
import type { WorldState } from '../state/world-state.js'
import { expansionGas, operands } from './instruction-memory.js'
import type { RunState } from './legacy-opcodes.js'

const WARM_ACCESS = 100n
/** Beyond the price of a warm access. */
const COLD_ACCOUNT = 2_500n
const COLD_SLOT = 2_000n
const COLD_BENEFICIARY = 2_600n
const COPY_WORD = 3n
const CALL_VALUE = 9_000n
const SELFDESTRUCT_BASE = 5_000n
const SSTORE_SENTRY = 2_300n
const ADDRESS_MASK = (1n << 160n) - 1n

/** Opcodes that access an account or a slot in the sense of EIP-2929. */
export const ACCESSING_OPCODES = [0x31, 0x3b, 0x3c, 0x3f, 0x54, 0x55, 0xf1, 0xf2, 0xf4, 0xfa, 0xff] as const

/** Told of each access. */
export interface AccessCounter {
  account(address: Address): void
  slot(address: Address, slot: `0x${string}`): void
}

/**
 * Counts what the instruction about to run accesses, as `Touched` defines it: the gas left must pay for what comes before
 * the access, then for the access itself, then, in a call, for the account that the callee delegates to (EIP-7702).
 */
export async function countPaidAccesses(
  frame: RunState,
  { world, journal, delegates }: { world: WorldState; journal: AccessJournal; delegates: boolean },
  counter: AccessCounter,
): Promise<void> {
  const { opCode, gasLeft, interpreter } = frame
  const stack = operands(frame, operandCount(opCode))
  const named = stack[isCall(opCode) ? 1 : 0]
  if (named === undefined || (interpreter.isStatic() && changesState(opCode, stack))) return
  if (opCode === 0x54 || opCode === 0x55) {
    const address: Address = hexOf(interpreter.getAddress().bytes)
    const slot = hash32(named)
    const price = WARM_ACCESS + (journal.isWarmSlot(address, slot) ? 0n : COLD_SLOT)
    if (opCode === 0x55 ? gasLeft > SSTORE_SENTRY : gasLeft >= price) counter.slot(address, slot)
    return
  }
  const address = addressOf(named)
  const isCold = !journal.isWarm(address)
  if (opCode === 0xff) {
    if (gasLeft >= SELFDESTRUCT_BASE + (isCold ? COLD_BENEFICIARY : 0n)) counter.account(address)
    return
  }
  const left = gasLeft - priceBefore(frame, stack) - (isCold ? COLD_ACCOUNT : 0n)
  if (left < 0n) return
  counter.account(address)
  if (!isCall(opCode) || !delegates) return
  const target = delegationTarget((await world.account(address)).code)
  if (target === undefined) return
  const targetIsCold = target !== address && !journal.isWarm(target)
  if (left >= WARM_ACCESS + (targetIsCold ? COLD_ACCOUNT : 0n)) counter.account(target)
}

function operandCount(opCode: number): number {
  if (opCode === 0xf1 || opCode === 0xf2) return 7
  if (isCall(opCode)) return 6
  return opCode === 0x3c ? 4 : opCode === 0x55 ? 2 : 1
}

function priceBefore(frame: RunState, stack: readonly bigint[]): bigint {
  const { opCode } = frame
  if (opCode !== 0x3c && !isCall(opCode)) return WARM_ACCESS
  const copied = opCode === 0x3c ? COPY_WORD * wordsOf(stack[3]!) : 0n
  const value = (opCode === 0xf1 || opCode === 0xf2) && stack[2]! > 0n ? CALL_VALUE : 0n
  return WARM_ACCESS + copied + value + expansionGas(frame, memoryEnd(opCode, stack))
}

function changesState(opCode: number, stack: readonly bigint[]): boolean {
  return opCode === 0x55 || opCode === 0xff || (opCode === 0xf1 && stack[2]! > 0n)
}

function isCall(opCode: number): boolean {
  return opCode === 0xf1 || opCode === 0xf2 || opCode === 0xf4 || opCode === 0xfa
}

function addressOf(word: bigint): Address {
  return `0x${(word & ADDRESS_MASK).toString(16).padStart(40, '0')}`
}

import type { Halt, HaltedStep } from '../engine/halt.js'
import { FORK_RULES } from '../plan/fork-rules.js'
import { isForkActive } from '../plan/rules-at.js'
import { growsStack, instructionOf, memoryEnd, memoryGas, opcodeName, wordsOf } from './opcodes.js'
import { precompileMessage } from './precompile-message.js'

const STACK_LIMIT = 1_024
const MAX_UINT64 = (1n << 64n) - 1n
/** Beyond this geth's price of memory would overflow, bytes. */
const MAX_PRICED_MEMORY = 0x1fffffffe0n
const COPY_WORD_GAS = 3n
const SSTORE_SENTRY = 2_300n
const WARM_ACCESS = 100n
const COLD_ACCOUNT = 2_600n
const CALL_VALUE_GAS = 9_000n
const SELFDESTRUCT_GAS = 5_000n

const CALL = 0xf1
const TSTORE = 0x5d
const LOG0 = 0xa0
const LOG4 = 0xa4
const CALLS = [CALL, 0xf2, 0xf4, 0xfa]

/** Of the log itself and of each topic. */
const LOG_TOPIC_GAS = 375n
const LOG_BYTE_GAS = 8n

const OUT_OF_GAS = 'out of gas'
const WRITE_PROTECTION = 'write protection'

/** Causes that geth words without details (core/vm/errors.go). */
const MESSAGES = {
  outOfGas: OUT_OF_GAS,
  invalidJump: 'invalid jump destination',
  addressCollision: 'contract address collision',
  codeStorageOutOfGas: 'contract creation code storage out of gas',
  codeStartsWithEf: 'invalid code: must not begin with 0xef',
  nonceOverflow: 'nonce uint64 overflow',
  callTooDeep: 'max call depth exceeded',
  insufficientBalance: 'insufficient balance for transfer',
  balanceOverflow: 'balance overflow',
  precompileFailed: 'precompile failed',
}

/** Whether more gas might have helped: geth says so of each halt that it calls out of gas, with a reason or without. */
export function isOutOfGas(halt: Halt): boolean {
  const message = haltMessage(halt)
  return message === OUT_OF_GAS || message.startsWith(`${OUT_OF_GAS}: `)
}

/** Why a call halted, in geth's words. */
export function haltMessage(halt: Halt): string {
  switch (halt.kind) {
    case 'codeTooLarge':
      return `max code size exceeded: code size ${halt.size} limit ${halt.limit}`
    case 'invalidOpcode':
      return `invalid opcode: ${opcodeName(halt.opcode)}`
    case 'instruction':
      return stepMessage(halt.step)
    case 'writeProtection':
      return writeProtectionMessage(halt.step)
    case 'precompile':
      return precompileMessage(halt)
    case 'other':
      return halt.name
    default:
      return MESSAGES[halt.kind]
  }
}

/**
 * geth looks at the stack, then charges what is constant, then computes memory, then the rest (core/vm/interpreter.go,
 * gas_table.go). It adds the reason where a price could not be computed, not where it could not be paid.
 */
function stepMessage(step: HaltedStep): string {
  const { opcode, height, fork, found } = step
  const { inputs, gas: constant } = instructionOf(opcode)
  if (height < inputs) return `stack underflow (${height} <=> ${inputs})`
  if (height === STACK_LIMIT && growsStack(opcode)) return `stack limit reached ${height} (${STACK_LIMIT - 1})`
  if (found === undefined) return OUT_OF_GAS
  const { gas, operands, isCold } = found
  if (gas !== undefined && gas < constant) return OUT_OF_GAS
  const memory = memoryEnd(opcode, operands)
  if (memory > MAX_UINT64 - 31n) return 'gas uint64 overflow'
  // Only calls take the price of the access before they look at memory.
  if (CALLS.includes(opcode) && isCold && isAtMost(gas, COLD_ACCOUNT - 1n)) return `${OUT_OF_GAS}: ${OUT_OF_GAS}`
  if (memory > MAX_PRICED_MEMORY) return `${OUT_OF_GAS}: gas uint64 overflow`
  switch (opcode) {
    case 0x3e:
      return returnDataCopyMessage(found, memory)
    case 0x55:
      return isAtMost(gas, SSTORE_SENTRY) ? `${OUT_OF_GAS}: not enough gas for reentrancy sentry` : OUT_OF_GAS
    case 0xff:
      return isCold && isAtMost(gas, SELFDESTRUCT_GAS + COLD_ACCOUNT - 1n) ? `${OUT_OF_GAS}: ${OUT_OF_GAS}` : OUT_OF_GAS
    case 0xf0:
    case 0xf5: {
      const size = operands[2] ?? 0n
      const { initCodeBytes: limit } = FORK_RULES[fork]
      return limit !== undefined && size > limit
        ? `${OUT_OF_GAS}: max initcode size exceeded: code size ${size} limit ${limit}`
        : OUT_OF_GAS
    }
    case CALL:
    case 0xf2:
    case 0xf4:
    case 0xfa:
      return isForkActive(fork, 'prague') || isAtMost(gas, callGas(opcode, found, memory) - 1n)
        ? `${OUT_OF_GAS}: ${OUT_OF_GAS}`
        : OUT_OF_GAS
    default:
      return OUT_OF_GAS
  }
}

/**
 * LOG and TSTORE look at the frame as they run, once they are paid for; the other instructions as their price is computed
 * (core/vm/gas_table.go, operations_acl.go).
 */
function writeProtectionMessage({ opcode, height, fork, found }: HaltedStep): string {
  const { inputs, gas: constant } = instructionOf(opcode)
  if (height < inputs) return `stack underflow (${height} <=> ${inputs})`
  if (found === undefined) return WRITE_PROTECTION
  const { gas = 0n, operands, isCold } = found
  if (gas < constant) return OUT_OF_GAS
  const memory = memoryEnd(opcode, operands)
  if (memory > MAX_UINT64 - 31n) return 'gas uint64 overflow'
  if (opcode === TSTORE) return gas < WARM_ACCESS ? OUT_OF_GAS : WRITE_PROTECTION
  if (opcode >= LOG0 && opcode <= LOG4) {
    if (memory > MAX_PRICED_MEMORY) return `${OUT_OF_GAS}: gas uint64 overflow`
    const topics = BigInt(opcode - LOG0 + 1) * LOG_TOPIC_GAS
    const price = topics + LOG_BYTE_GAS * (operands[1] ?? 0n) + expansionGas(found, memory)
    return gas < price ? OUT_OF_GAS : WRITE_PROTECTION
  }
  const paysAccessFirst = opcode === CALL && !isForkActive(fork, 'prague')
  if (paysAccessFirst && isCold && gas < COLD_ACCOUNT) return `${OUT_OF_GAS}: ${OUT_OF_GAS}`
  return `${OUT_OF_GAS}: ${WRITE_PROTECTION}`
}

type Found = NonNullable<HaltedStep['found']>

function isAtMost(gas: bigint | undefined, most: bigint): boolean {
  return gas !== undefined && gas <= most
}

/** Before Prague geth computes the price of a call without checking that what comes after the transfer can be paid. */
function callGas(opcode: number, found: Found, memory: bigint): bigint {
  const access = found.isCold ? COLD_ACCOUNT : WARM_ACCESS
  if (opcode !== CALL) return access
  const transfer = (found.operands[2] ?? 0n) > 0n ? CALL_VALUE_GAS : 0n
  return access + transfer + expansionGas(found, memory)
}

function expansionGas({ memory: before }: Found, memory: bigint): bigint {
  const more = memoryGas(memory) - memoryGas(BigInt(before))
  return more > 0n ? more : 0n
}

/** The bounds are checked as it runs, once it is paid for. */
function returnDataCopyMessage(found: Found, memory: bigint): string {
  const { operands, gas, returnData } = found
  const [, offset = 0n, length = 0n] = operands
  if (offset + length <= BigInt(returnData)) return OUT_OF_GAS
  const price = COPY_WORD_GAS + expansionGas(found, memory) + COPY_WORD_GAS * wordsOf(length)
  return gas !== undefined && gas >= price ? 'return data out of bounds' : OUT_OF_GAS
}

import type { HaltedStep } from '../engine/halt.js'
import { isForkActive } from '../plan/rules-at.js'
import { constantGas, memoryEnd, memoryGas, wordsOf } from './opcodes.js'

const MAX_UINT64 = (1n << 64n) - 1n
const WORD_GAS = 3n
const HASH_WORD_GAS = 6n
const INIT_CODE_WORD_GAS = 2n
const LOG_GAS = 375n
const LOG_BYTE_GAS = 8n
const EXP_GAS = 10n
const EXP_BYTE_GAS = 50n
const COLD_ACCOUNT = 2_600n
const COLD_SLOT = 2_100n
const WARM_ACCESS = 100n
const NEW_SLOT_GAS = 20_000n
const CHANGED_SLOT_GAS = 2_900n
const CALL_VALUE_GAS = 9_000n
const NEW_ACCOUNT_GAS = 25_000n

const CREATE2 = 0xf5

/**
 * What geth would take for an instruction that halted (core/vm/interpreter.go, gas_table.go): its constant price where the rest could not
 * be computed.
 * @param error in geth's words
 */
export function stepPrice(step: HaltedStep, error: string, isNewSlot: boolean): bigint {
  const constant = constantGas(step.opcode)
  const gas = step.found?.gas ?? 0n
  if (error.startsWith('stack') || error.includes(': ') || error.startsWith('gas uint64')) return constant
  return gas < constant ? constant : constant + dynamicGas(step, gas - constant, isNewSlot)
}

function dynamicGas(step: HaltedStep, left: bigint, isNewSlot: boolean): bigint {
  const { opcode, fork, found } = step
  if (found === undefined) return 0n
  const { operands, isCold } = found
  const at = (index: number) => operands[index] ?? 0n
  const before = memoryGas(BigInt(found.memory))
  const wanted = memoryGas(memoryEnd(opcode, operands))
  const memory = wanted > before ? wanted - before : 0n
  const coldAccount = isCold ? COLD_ACCOUNT - WARM_ACCESS : 0n
  if (opcode >= 0xa0 && opcode <= 0xa4) return memory + BigInt(opcode - 0x9f) * LOG_GAS + LOG_BYTE_GAS * at(1)
  switch (opcode) {
    case 0x0a:
      return EXP_GAS + EXP_BYTE_GAS * BigInt(bytesOf(at(1)))
    case 0x20:
      return memory + HASH_WORD_GAS * wordsOf(at(1))
    case 0x31:
    case 0x3b:
    case 0x3f:
      return coldAccount
    case 0x37:
    case 0x39:
    case 0x3e:
    case 0x5e:
      return memory + WORD_GAS * wordsOf(at(2))
    case 0x3c:
      return memory + WORD_GAS * wordsOf(at(3)) + coldAccount
    case 0x54:
      return isCold ? COLD_SLOT : WARM_ACCESS
    case 0x55:
      return (isCold ? COLD_SLOT : 0n) + (isNewSlot ? NEW_SLOT_GAS : CHANGED_SLOT_GAS)
    case 0xf0:
    case CREATE2: {
      const hashing = opcode === CREATE2 ? HASH_WORD_GAS : 0n
      const limited = isForkActive(fork, 'shanghai') ? INIT_CODE_WORD_GAS : 0n
      return memory + (hashing + limited) * wordsOf(at(2))
    }
    case 0xf1:
    case 0xf2:
    case 0xf4:
    case 0xfa:
      return coldAccount + callGas(step, left - coldAccount, memory)
    case 0xff:
      // All else could be paid for: the beneficiary must be new.
      return (isCold ? COLD_ACCOUNT : 0n) + NEW_ACCOUNT_GAS
    default:
      return memory
  }
}

/** Before Prague geth passes on what is left after a price that can't be paid: less than nothing, which wraps around. */
function callGas({ opcode, found }: HaltedStep, left: bigint, memory: bigint): bigint {
  const [requested = 0n, , value = 0n] = found?.operands ?? []
  const transfer = opcode <= 0xf2 && value > 0n ? CALL_VALUE_GAS : 0n
  const price = memory + transfer + (opcode === 0xf1 ? NEW_ACCOUNT_GAS : 0n)
  const rest = BigInt.asUintN(64, left - price)
  const most = rest - rest / 64n
  return price + (requested > MAX_UINT64 || most < requested ? most : requested)
}

function bytesOf(value: bigint): number {
  return value === 0n ? 0 : Math.ceil(value.toString(16).length / 2)
}

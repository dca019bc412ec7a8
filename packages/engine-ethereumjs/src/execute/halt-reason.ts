import { EVMError, type ExecResult } from '@ethereumjs/evm'
import type { Address } from '@upfront/protocol'
import { type EthereumFork, isForkActive } from '@upfront/simulation'
import { expansionGas, memoryEnd, operands, wordsOf } from '../evm/instruction-memory.js'
import type { RunState } from '../evm/legacy-opcodes.js'
import { opcodeName, stackItems } from '../evm/opcode-table.js'
import type { PricedOpcode } from '../evm/simulation-evm.js'
import { EMPTY_BYTES } from '../state/bytes.js'
import { precompileFailure } from './precompile-failure.js'

const { errorMessages } = EVMError
const STACK_LIMIT = 1_024
const MAX_CODE = 24_576
const MAX_INIT_CODE = 49_152n
const CODE_BYTE_GAS = 200n
const COPY_WORD_GAS = 3n
const SSTORE_SENTRY = 2_300n
const WARM_ACCESS = 100n
const COLD_ACCOUNT = 2_600n
const CALL = 0xf1
const CALL_VALUE_GAS = 9_000n
const SELFDESTRUCT_GAS = 5_000n
const CREATE_GAS = 32_000n
const MAX_UINT64 = (1n << 64n) - 1n
/** Beyond this geth's price of memory would overflow, bytes. */
const MAX_PRICED_MEMORY = 0x1fffffffe0n

export interface HaltContext {
  fork: EthereumFork
  /** What a constructor returned, where the transaction deploys. */
  deployed?: ExecResult | undefined
  priced?: PricedOpcode | undefined
  /** The precompile that was called, by its usual address. */
  precompile?: Address | undefined
  input?: Uint8Array
  /** Of the top frame, at its start. */
  gas?: bigint
}

/** Why the top frame halted, in geth's words. */
export function haltReason(result: ExecResult, context: HaltContext): string {
  const error = result.exceptionError?.error
  const { deployed, precompile } = context
  if (precompile) {
    return precompileFailure(precompile, error, context.input ?? EMPTY_BYTES, context.gas ?? 0n, context.fork)
  }
  if (deployed && !deployed.exceptionError) return deploymentFailure(deployed)
  const frame = deployed?.runState ?? result.runState
  if (!frame) return error === errorMessages.CREATE_COLLISION ? 'contract address collision' : 'out of gas'
  // EthereumJS' message ends with the destination.
  if (error?.startsWith(errorMessages.INVALID_JUMP)) return 'invalid jump destination'
  switch (error) {
    case errorMessages.STACK_UNDERFLOW:
      return `stack underflow (${frame.stack.length} <=> ${stackItems(frame.opCode)})`
    case errorMessages.STACK_OVERFLOW:
      return `stack limit reached ${STACK_LIMIT} (${STACK_LIMIT - 1})`
    case errorMessages.INVALID_OPCODE:
      // Once EthereumJS has looked for jump destinations, `opCode` is 0xfe for whatever is undefined.
      return `invalid opcode: ${opcodeName(frame.code[frame.programCounter] ?? frame.opCode)}`
    case errorMessages.REVERT:
      return 'execution reverted'
    case errorMessages.STATIC_STATE_CHANGE:
      return 'write protection'
    case errorMessages.INITCODE_SIZE_VIOLATION:
    case errorMessages.OUT_OF_GAS:
      return outOfGas(frame, context)
    default:
      return error ?? ''
  }
}

function deploymentFailure({ returnValue, gas = 0n }: ExecResult): string {
  if (returnValue[0] === 0xef) return 'invalid code: must not begin with 0xef'
  if (BigInt(returnValue.length) * CODE_BYTE_GAS > gas) return 'contract creation code storage out of gas'
  return `max code size exceeded: code size ${returnValue.length} limit ${MAX_CODE}`
}

/** geth adds the reason where a price could not be computed, not where it could not be paid. The price of a call is computed in two steps. */
function outOfGas(frame: RunState, context: HaltContext): string {
  const { fork, priced } = context
  const { opCode } = frame
  const gas = priced?.gas ?? frame.gasLeft
  if (isCreation(opCode) && gas < CREATE_GAS) return 'out of gas'
  if (isCall(opCode) && gas < WARM_ACCESS) return 'out of gas'
  const memory = memoryEnd(frame)
  if (memory > MAX_UINT64) return 'gas uint64 overflow'
  if (memory > MAX_PRICED_MEMORY) return 'out of gas: gas uint64 overflow'
  if (opCode === 0x3e) return returnDataCopy(frame, memory)
  if (opCode === 0x55) return gas <= SSTORE_SENTRY ? 'out of gas: not enough gas for reentrancy sentry' : 'out of gas'
  if (opCode === 0xff) {
    const short = priced?.cold && gas >= SELFDESTRUCT_GAS && gas < SELFDESTRUCT_GAS + COLD_ACCOUNT
    return short ? 'out of gas: out of gas' : 'out of gas'
  }
  if (isCreation(opCode) && isForkActive(fork, 'shanghai')) {
    const size = operands(frame, 3)[2]!
    if (size > MAX_INIT_CODE) return `out of gas: max initcode size exceeded: code size ${size} limit ${MAX_INIT_CODE}`
  }
  return isCall(opCode) && isCallUnaffordable(frame, gas, context) ? 'out of gas: out of gas' : 'out of gas'
}

/** Before Prague geth computes the price of a call without checking that what comes after the access can be paid. */
function isCallUnaffordable(frame: RunState, gas: bigint, { fork, priced }: HaltContext): boolean {
  if (isForkActive(fork, 'prague')) return true
  const afterAccess = gas - (priced?.cold ? COLD_ACCOUNT : WARM_ACCESS)
  const transfer = frame.opCode === CALL && (operands(frame, 3)[2] ?? 0n) > 0n ? CALL_VALUE_GAS : 0n
  return afterAccess < transfer
}

function returnDataCopy(frame: RunState, memory: bigint): string {
  const [, offset, length] = operands(frame, 3) as [bigint, bigint, bigint]
  if (offset + length <= BigInt(frame.returnBytes.length)) return 'out of gas'
  const price = COPY_WORD_GAS + expansionGas(frame, memory) + COPY_WORD_GAS * wordsOf(length)
  return price > frame.gasLeft ? 'out of gas' : 'return data out of bounds'
}

function isCall(opCode: number): boolean {
  return [0xf1, 0xf2, 0xf4, 0xfa].includes(opCode)
}

function isCreation(opCode: number): boolean {
  return opCode === 0xf0 || opCode === 0xf5
}

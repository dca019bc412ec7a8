import { EVMError, type ExecResult } from '@ethereumjs/evm'
import type { Address } from '@upfront/protocol'
import { type EthereumFork, type FoundByStep, type Halt, type HaltedStep, instructionOf } from '@upfront/simulation'
import { EMPTY_BYTES, hexOf } from '../state/bytes.js'
import { operands } from './instruction-memory.js'
import type { RunState } from './legacy-opcodes.js'
import { precompileFault } from './precompile-fault.js'
import type { PricedOpcode } from './simulation-evm.js'

const { errorMessages } = EVMError
const CODE_BYTE_GAS = 200n

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

/** Why the top frame halted. */
export function haltOf(result: ExecResult, context: HaltContext): Halt {
  const error = result.exceptionError?.error
  const { deployed, precompile, fork, input = EMPTY_BYTES, gas = 0n } = context
  if (precompile) {
    return { kind: 'precompile', fault: precompileFault(precompile, error, input, gas, fork), gas, input: hexOf(input) }
  }
  if (deployed && !deployed.exceptionError) return deploymentHalt(deployed)
  const frame = deployed?.runState ?? result.runState
  if (!frame) return { kind: error === errorMessages.CREATE_COLLISION ? 'addressCollision' : 'outOfGas' }
  // EthereumJS' message ends with the destination.
  if (error?.startsWith(errorMessages.INVALID_JUMP)) return { kind: 'invalidJump' }
  // Once EthereumJS has looked for jump destinations, `opCode` is 0xfe for whatever is undefined.
  const opcode = frame.code[frame.programCounter] ?? frame.opCode
  switch (error) {
    case errorMessages.INVALID_OPCODE:
      return { kind: 'invalidOpcode', opcode }
    case errorMessages.STATIC_STATE_CHANGE:
      return { kind: 'writeProtection', step: stepOf(frame, context) }
    case errorMessages.STACK_UNDERFLOW:
    case errorMessages.STACK_OVERFLOW:
    case errorMessages.INITCODE_SIZE_VIOLATION:
    case errorMessages.OUT_OF_GAS:
      return { kind: 'instruction', step: stepOf(frame, context) }
    default:
      return { kind: 'other', name: error === errorMessages.REVERT ? 'execution reverted' : (error ?? '') }
  }
}

function deploymentHalt({ returnValue, gas = 0n }: ExecResult): Halt {
  if (returnValue[0] === 0xef) return { kind: 'codeStartsWithEf' }
  if (BigInt(returnValue.length) * CODE_BYTE_GAS > gas) return { kind: 'codeStorageOutOfGas' }
  return { kind: 'codeTooLarge', size: returnValue.length }
}

function stepOf(frame: RunState, context: HaltContext): HaltedStep {
  return { fork: context.fork, opcode: frame.opCode, height: frame.stack.length, found: foundBy(frame, context) }
}

function foundBy(frame: RunState, { priced }: HaltContext): FoundByStep {
  const known = priced?.opcode === frame.opCode ? priced : undefined
  // EthereumJS leaves nothing where it could not take a price.
  const gas = known?.gas ?? (frame.gasLeft > 0n ? frame.gasLeft : undefined)
  return {
    operands: operands(frame, instructionOf(frame.opCode).inputs),
    ...(gas !== undefined && { gas }),
    memory: known?.memory ?? Number(frame.memoryWordCount) * 32,
    returnData: frame.returnBytes.length,
    isCold: known?.isCold ?? false,
  }
}

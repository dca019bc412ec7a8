import { type EVM, EVMError } from '@ethereumjs/evm'
import { bigIntToBytes, bytesToBigInt, createAddressFromBigInt, setLengthLeft } from '@ethereumjs/util'
import { codeHash, isEmpty } from '../state/account-record.js'
import { hexOf } from '../state/bytes.js'
import { type WorldState } from '../state/world-state.js'

type ExecutionResult = Awaited<ReturnType<EVM['runCall']>>['execResult']
/** The machine of one frame. */
export type RunState = NonNullable<ExecutionResult['runState']>
export type OpcodeHandler = (runState: RunState) => Promise<void> | undefined

const ADDRESS_MASK = (1n << 160n) - 1n

function addressAt(word: bigint) {
  return createAddressFromBigInt(word & ADDRESS_MASK)
}

/**
 * Opcodes in which EthereumJS looks for EOF containers (EIP-3540) even where no fork has them: code that begins with 0xef00
 * is code like any other here, as in geth.
 */
export function legacyOpcodes(
  world: () => WorldState,
  maxInitCodeSize: number | undefined,
): Map<number, OpcodeHandler> {
  const account = (word: bigint) => world().account(hexOf(addressAt(word).bytes))

  const create = (hasSalt: boolean): OpcodeHandler => {
    return async (runState) => {
      const operands = hasSalt ? 4 : 3
      const [value, offset, length, salt] = runState.stack.peek(operands) as [bigint, bigint, bigint, bigint]
      if (maxInitCodeSize !== undefined && length > maxInitCodeSize) {
        throw new EVMError(EVMError.errorMessages.INITCODE_SIZE_VIOLATION)
      }
      runState.stack.popN(operands)
      const gasLimit = runState.messageGasLimit!
      delete runState.messageGasLimit
      const code = length === 0n ? new Uint8Array(0) : runState.memory.read(Number(offset), Number(length))
      const created = hasSalt
        ? await runState.interpreter.create2(gasLimit, value, code, setLengthLeft(bigIntToBytes(salt), 32))
        : await runState.interpreter.create(gasLimit, value, code)
      runState.stack.push(created)
    }
  }

  return new Map<number, OpcodeHandler>([
    [
      0x3b,
      async (runState) => {
        const { code } = await account(runState.stack.pop())
        runState.stack.push(BigInt(code.length))
      },
    ],
    [
      0x3c,
      async (runState) => {
        const [word, memoryOffset, codeOffset, length] = runState.stack.popN(4) as [bigint, bigint, bigint, bigint]
        if (length === 0n) return
        const { code } = await account(word)
        const copied = new Uint8Array(Number(length))
        if (codeOffset < code.length) {
          const from = Number(codeOffset)
          copied.set(code.subarray(from, from + copied.length))
        }
        runState.memory.write(Number(memoryOffset), copied.length, copied)
      },
    ],
    [
      0x3f,
      async (runState) => {
        const record = await account(runState.stack.pop())
        runState.stack.push(isEmpty(record) ? 0n : bytesToBigInt(codeHash(record.code)))
      },
    ],
    [0xf0, create(false)],
    [0xf5, create(true)],
  ])
}

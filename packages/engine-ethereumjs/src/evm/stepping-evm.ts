import type { EVMResult, ExecResult } from '@ethereumjs/evm'
import type { EthereumFork } from '@upfront/simulation'
import { EMPTY_BYTES, hash32, hexOf } from '../state/bytes.js'
import type { RunState } from './legacy-opcodes.js'
import type { Recorder } from './recorder.js'
import { RecordingEvm } from './recording-evm.js'
import type { StepLog } from './step-log.js'

const STOP = 0x00
const SLOAD = 0x54
const SSTORE = 0x55
const CALLS = [0xf1, 0xf2, 0xf4, 0xfa]
/** By the stack position of the account that they access. */
const ACCESSING = new Map([
  ...CALLS.map((opcode) => [opcode, 1] as const),
  [0xff, 0],
  [0x31, 0],
  [0x3b, 0],
  [0x3c, 0],
  [0x3f, 0],
])
const ENDING = [STOP, 0xf3, 0xff]
const OPERANDS = 7
const ADDRESS_MASK = (1n << 160n) - 1n

type CallOptions = Parameters<RecordingEvm['runCall']>[0]

/** `RecordingEvm` that writes down each instruction. */
export class SteppingEvm extends RecordingEvm {
  /** Of the frames under way, by depth: the last instruction, and the index of its step where it is logged. */
  readonly #lastAt: ({ opcode: number; step: number | undefined } | undefined)[] = []

  constructor(chainId: bigint, fork: EthereumFork) {
    super(chainId, fork)
    for (const [opcode, entry] of Object.entries(this._opcodeMap)) {
      const { dynamicGas } = entry.opcodeInfo
      this._opcodeMap[Number(opcode)] = {
        opHandler: entry.opHandler,
        opcodeInfo: Object.freeze({ ...entry.opcodeInfo, dynamicGas: true }),
        gasHandler: (async (runState, gas, common) => {
          const price = async () => (dynamicGas ? entry.gasHandler(runState, gas, common) : gas)
          await this.#noteUses(runState)
          const log = this.recorder?.steps
          const isLogged = log !== undefined && !log.isFull
          this.#lastAt[runState.interpreter._env.depth] = {
            opcode: opcodeOf(runState),
            step: isLogged ? log.steps.length : undefined,
          }
          if (!isLogged) return price()
          return this.#logged(log, runState, gas, price)
        }) as typeof entry.gasHandler,
      }
    }
  }

  override async runCall(options: CallOptions): Promise<EVMResult> {
    const depth = options.message?.depth ?? 0
    this.#lastAt[depth] = undefined
    return super.runCall(options)
  }

  protected override async runInterpreter(
    ...[message, options]: Parameters<RecordingEvm['runInterpreter']>
  ): Promise<ExecResult> {
    const result = await super.runInterpreter(message, options)
    const { recorder } = this
    const { runState, exceptionError } = result
    if (recorder === undefined || runState === undefined) return result
    const last = this.#lastAt[message.depth]
    if (exceptionError === undefined && (last === undefined || !ENDING.includes(last.opcode))) {
      // geth runs into a STOP behind the code; EthereumJS ends there.
      if (runState.code.length > 0) await this.#stopped(recorder, runState, result.gasRefund ?? 0n)
    } else if (exceptionError !== undefined && last?.step !== undefined && exceptionError.error !== 'revert') {
      const halt = this.haltAt(message.depth, result, undefined, message.data, message.gasLimit)
      recorder.steps?.halt(last.step, halt, last.opcode === SSTORE && (await this.#isNewSlot(runState)))
    }
    return result
  }

  /** @param gasRefund of the frame's end: the result's `runState` has that of its start */
  async #stopped(recorder: Recorder, runState: RunState, gasRefund: bigint): Promise<void> {
    await this.#noteUses(runState, STOP)
    const { steps } = recorder
    if (steps === undefined || steps.isFull) return
    recorder.take(steps.add(this.#before(STOP, runState), 0n, recorder.refund + gasRefund, undefined) / 2)
  }

  async #logged(log: StepLog, runState: RunState, constant: bigint, price: () => Promise<bigint>): Promise<bigint> {
    const opcode = opcodeOf(runState)
    const before = this.#before(opcode, runState)
    let gas = constant
    try {
      gas = await price()
      return gas
    } finally {
      const passedOn = CALLS.includes(opcode) ? (runState.messageGasLimit ?? 0n) : 0n
      const cost = gas + (passedOn > 0n ? passedOn : 0n)
      const bytes = log.add(before, cost, this.#refundOf(runState), await this.#namedSlot(opcode, runState))
      this.recorder?.take(bytes / 2)
    }
  }

  async #noteUses(runState: RunState, opcode = opcodeOf(runState)): Promise<void> {
    const { recorder, world } = this
    const frame = recorder?.openUses
    if (recorder?.uses === undefined || frame === undefined) return
    const { stack, memory, memoryWordCount, interpreter } = runState
    const address = hexOf(interpreter.getAddress().bytes)
    const bytes = await recorder.uses.add(frame, {
      opcode,
      operands: stack.peek(Math.min(stack.length, OPERANDS)),
      memoryBytes: memoryWordCount * 32n,
      read: (offset, length) => memory.read(offset, length),
      codeSize: async (contract) => (await world.account(contract)).code.length,
      slot: (slot) => world.slot(address, slot),
    })
    recorder.take(bytes)
  }

  #refundOf({ gasRefund }: RunState): bigint {
    return (this.recorder?.refund ?? 0n) + gasRefund
  }

  #before(opcode: number, runState: RunState) {
    const { stack, memory, memoryWordCount, gasLeft, returnBytes, programCounter, interpreter } = runState
    const words = stack.getStack()
    const bytes = Number(memoryWordCount) * 32
    return {
      fork: this.fork,
      opcode,
      height: words.length,
      pc: programCounter,
      depth: interpreter._env.depth + 1,
      stack: words,
      memory: this.recorder?.steps?.options.memory ? memory.read(0, bytes) : EMPTY_BYTES,
      returnData: returnBytes,
      found: {
        operands: words.slice(-OPERANDS).reverse(),
        gas: gasLeft,
        memory: bytes,
        returnData: returnBytes.length,
        isCold: this.#isCold(opcode, runState),
      },
    }
  }

  #isCold(opcode: number, { stack, interpreter }: RunState): boolean {
    const at = opcode === SLOAD || opcode === SSTORE ? 0 : ACCESSING.get(opcode)
    if (at === undefined || stack.length <= at) return false
    const word = stack.peek(at + 1)[at]!
    if (opcode === SLOAD || opcode === SSTORE)
      return !this.journal.isWarmedStorage(interpreter.getAddress().bytes, Buffer.from(hash32(word).slice(2), 'hex'))
    return !this.journal.isWarmedAddress(Buffer.from((word & ADDRESS_MASK).toString(16).padStart(40, '0'), 'hex'))
  }

  async #namedSlot(opcode: number, { stack, interpreter }: RunState) {
    const needed = opcode === SLOAD ? 1 : opcode === SSTORE ? 2 : undefined
    if (needed === undefined || stack.length < needed) return undefined
    const [slot, value] = stack.peek(needed) as [bigint, bigint]
    const address = hexOf(interpreter.getAddress().bytes)
    const key = hash32(slot)
    return { address, slot: key, value: needed === 1 ? await this.world.slot(address, key) : hash32(value) }
  }

  async #isNewSlot({ stack, interpreter }: RunState): Promise<boolean> {
    if (stack.length < 1) return false
    const address = hexOf(interpreter.getAddress().bytes)
    const slot = hash32(stack.peek()[0]!)
    const original = this.world.beforeTransaction().slots.get(address)?.get(slot)
    const present = BigInt(await this.world.slot(address, slot))
    return present === 0n && BigInt(original ?? present) === 0n
  }
}

/** As the code has it: EthereumJS has one number for whatever is undefined. */
function opcodeOf({ code, programCounter, opCode }: RunState): number {
  return code[programCounter] ?? opCode
}

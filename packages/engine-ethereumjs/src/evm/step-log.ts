import type { Address, Hash, Hex } from '@upfront/protocol'
import { type HaltedStep, opcodeName, type RecordedHalt, type StepOptions } from '@upfront/simulation'

/** What an instruction finds, before its price is known. */
export interface StepBefore extends HaltedStep {
  pc: number
  found: NonNullable<HaltedStep['found']> & { gas: bigint }
  /** Of the frame; 1: the outermost. */
  depth: number
  /** From the bottom. */
  stack: readonly bigint[]
  memory: Uint8Array
  returnData: Uint8Array
}

/** What SLOAD and SSTORE name. */
export interface NamedSlot {
  address: Address
  slot: Hash
  value: Hash
}

/** Instructions as geth's struct logger writes them (eth/tracers/logger/logger.go), as JSON. */
export class StepLog {
  readonly steps: string[] = []
  readonly halted: RecordedHalt[] = []
  readonly #rests: { before: StepBefore; cost: bigint; rest: string }[] = []
  readonly #storage = new Map<Address, Map<Hash, Hash>>()
  #bytes = 0

  constructor(readonly options: StepOptions) {}

  get isFull(): boolean {
    return this.options.limit !== 0 && this.#bytes > this.options.limit
  }

  /** @returns bytes that were written down */
  add(before: StepBefore, cost: bigint, refund: bigint, named: NamedSlot | undefined): number {
    const { pc, opcode, found, depth } = before
    const rest = `${this.#seen(before)}${this.#storageWith(named)}${refund === 0n ? '' : `,"refund":${refund}`}}`
    const step = `${head(pc, opcode, found.gas)},"gasCost":${cost},"depth":${depth}${rest}`
    this.#rests.push({ before, cost, rest })
    this.steps.push(step)
    this.#bytes += step.length
    return step.length
  }

  /** The last step of the frame at this depth halted. @param at its index */
  halt(at: number, halt: RecordedHalt['halt'], isNewSlot: boolean): void {
    const { before, cost, rest } = this.#rests[at]!
    const { pc, opcode, fork, height, found, depth } = before
    const step = { fork, opcode, height, found }
    const known = halt.kind === 'instruction' || halt.kind === 'writeProtection' ? { ...halt, step } : halt
    this.steps[at] = head(pc, opcode, found.gas)
    this.halted.push({ at, depth, halt: known, cost, isNewSlot, rest })
  }

  #seen({ stack, memory, returnData }: StepBefore): string {
    const { options } = this
    const words = options.memory ? wordsOf(memory) : []
    return [
      options.stack ? `,"stack":[${stack.map((word) => `"0x${word.toString(16)}"`).join(',')}]` : '',
      options.returnData && returnData.length > 0 ? `,"returnData":"0x${Buffer.from(returnData).toString('hex')}"` : '',
      words.length > 0 ? `,"memory":[${words.map((word) => `"${word}"`).join(',')}]` : '',
    ].join('')
  }

  #storageWith(named: NamedSlot | undefined): string {
    if (named === undefined || !this.options.storage) return ''
    const known = this.#storage.get(named.address) ?? new Map<Hash, Hash>()
    this.#storage.set(named.address, known.set(named.slot, named.value))
    const slots = [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([slot, value]) => `"${slot}":"${value}"`)
    return `,"storage":{${slots.join(',')}}`
  }
}

function head(pc: number, opcode: number, gas: bigint): string {
  return `{"pc":${pc},"op":"${opcodeName(opcode)}","gas":${gas}`
}

function wordsOf(memory: Uint8Array): Hex[] {
  const words: Hex[] = []
  for (let at = 0; at < memory.length; at += 32)
    words.push(`0x${Buffer.from(memory.subarray(at, at + 32)).toString('hex')}`)
  return words
}

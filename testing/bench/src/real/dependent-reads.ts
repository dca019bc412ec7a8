import type { RecordedState } from '@upfront/devnet'
import { type Depth, type Depths, Memory, most, NONE } from './depths.js'
import { STACK } from './stack.js'

/** A step of geth's struct logger with its stack, from `debug_traceTransaction`. */
export interface Step {
  op: string
  /** Depth of the frame, from 1. */
  depth: number
  stack?: string[]
  error?: unknown
}

/** Addresses and slots that a transaction names. */
export interface Named {
  from: string
  /** Null for contract creation. */
  to: string | null
  accessList?: { address: string; storageKeys: string[] }[]
}

interface Frame {
  /** Least depth of everything that the frame computes. */
  base: Depth
  address: string
  ofAddress: Depth
  stack: Depth[]
  memory: Memory
  input: Depths
  returned: Depths
  /** Number of writes when it began; later ones are reverted if it fails. */
  writes: number
  /** Memory of its caller for the return data. */
  into: { at: number; size: number }
  creates: boolean
}

interface Write {
  written: Map<string, Depth>
  place: string
  before: Depth | undefined
}

/** Most bytes of a precompile's output that are tracked. */
const MAX_RETURNED = 1 << 16
const ENDS = ['STOP', 'RETURN', 'REVERT', 'SELFDESTRUCT', 'INVALID']
const DELEGATION = '0xef0100'

/**
 * Finds the longest chain of reads in which each is named by the value of an earlier one: the round trips needed to
 * read all of them without guessing. Transactions are followed step by step: values through stack, memory, calls and
 * storage. Memory offsets and additions to balances are not followed.
 */
export class DependentReads {
  /** By name. */
  readonly #reads = new Map<string, Depth>()
  readonly #written = new Map<string, Depth>()
  readonly #madeCode = new Map<string, Depth>()
  /** Whether all traces were followed to the end. */
  isWhole = true
  #transient = new Map<string, Depth>()
  #writes: Write[] = []

  constructor(
    private readonly state: RecordedState,
    /** Whether a read also depends on the code that makes it, rather than only on the values it computes with. */
    private readonly withCodes: boolean,
  ) {}

  get longest(): number {
    return Math.max(0, ...this.#reads.values())
  }

  /** Adds reads that are known before execution. */
  name({ from, to, accessList = [] }: Named): void {
    this.#read(`code ${lower(from)}`, 0)
    if (to !== null) this.#read(`code ${lower(to)}`, 0)
    for (const { address, storageKeys } of accessList)
      for (const key of storageKeys) this.#read(placeOf(lower(address), BigInt(key)), 0)
  }

  /** @param steps all steps of the transaction */
  follow(named: Named, steps: readonly Step[]): void {
    this.name(named)
    this.#transient = new Map()
    this.#writes = []
    const to = lower(named.to ?? named.from)
    const top: Frame = {
      base: named.to === null ? 0 : this.#codeOf(to, 0),
      ...{ address: to, ofAddress: 0, stack: [], memory: new Memory(), input: NONE, returned: NONE },
      ...{ writes: 0, into: { at: 0, size: 0 }, creates: named.to === null },
    }
    const last = steps.at(-1)
    if (last !== undefined && last.error === undefined && (last.depth > 1 || !ENDS.includes(last.op)))
      this.isWhole = false
    const frames = [top]
    for (const [index, step] of steps.entries()) {
      const next = steps[index + 1]
      const frame = frames.at(-1)!
      const opened = this.#step(frame, step)
      if (next === undefined) break
      if (next.depth > step.depth) {
        if (opened!.creates)
          this.#place(
            opened!,
            steps.find(({ depth }, at) => at > index && depth === step.depth),
          )
        frames.push(opened!)
      } else if (next.depth < step.depth) {
        if (step.op !== 'RETURN' && step.op !== 'REVERT') frame.returned = NONE
        this.#return(frames.at(-2)!, frames.pop()!, next)
      } else if (opened !== undefined) {
        // A precompile, an account without code, or a call that can't be made.
        const size = Math.min(opened.into.size, MAX_RETURNED)
        opened.returned = new Uint16Array(size).fill(Math.max(frame.base, most(opened.input)))
        this.#return(frame, opened, next)
      }
    }
  }

  /** A contract creation: the address is on the stack afterwards. */
  #place(made: Frame, after: Step | undefined): void {
    made.address = `0x${top(after).toString(16).padStart(40, '0')}`
    for (const kind of ['code', 'balance']) this.#read(`${kind} ${made.address}`, made.ofAddress)
  }

  /** The frame that the step opens, if any. */
  #step(frame: Frame, { op, stack: words = [] }: Step): Frame | undefined {
    const { stack, base } = frame
    const word = (fromTop: number) => BigInt(words[words.length - 1 - fromTop] ?? '0x0')
    const offset = (fromTop: number) => Number(word(fromTop))
    const addressAt = (fromTop: number) => `0x${(word(fromTop) & ((1n << 160n) - 1n)).toString(16).padStart(40, '0')}`
    const pop = () => stack.pop() ?? base
    const push = (depth: Depth) => stack.push(Math.max(depth, frame.base))
    const [, kind, digits] = /^([A-Z]+?)(\d+)$/.exec(op) ?? []
    const count = Number(digits)
    if (kind === 'PUSH') push(0)
    else if (kind === 'DUP') push(stack.at(-count) ?? 0)
    else if (kind === 'SWAP') {
      const top = stack.length - 1
      const other = top - count
      if (other >= 0) [stack[top], stack[other]] = [stack[other]!, stack[top]!]
    } else if (kind === 'LOG') for (let popped = 0; popped < count + 2; popped += 1) pop()
    else
      switch (op) {
        case 'SLOAD':
        case 'SSTORE': {
          const place = placeOf(frame.address, word(0))
          const read = this.#read(place, Math.max(pop(), frame.ofAddress, base))
          if (op === 'SLOAD') push(this.#written.get(place) ?? read)
          else this.#write(this.#written, place, pop())
          break
        }
        case 'TLOAD': {
          pop()
          push(this.#transient.get(placeOf(frame.address, word(0))) ?? 0)
          break
        }
        case 'TSTORE': {
          pop()
          this.#write(this.#transient, placeOf(frame.address, word(0)), pop())
          break
        }
        case 'BALANCE':
          push(this.#read(`balance ${addressAt(0)}`, Math.max(pop(), base)))
          break
        case 'SELFBALANCE':
          push(this.#read(`balance ${frame.address}`, Math.max(frame.ofAddress, base)))
          break
        case 'BLOCKHASH':
          push(this.#read(`hash ${word(0)}`, Math.max(pop(), base)))
          break
        case 'EXTCODESIZE':
        case 'EXTCODEHASH': {
          push(this.#read(`code ${addressAt(0)}`, Math.max(pop(), base)))
          break
        }
        case 'EXTCODECOPY': {
          const code = this.#read(`code ${addressAt(0)}`, Math.max(pop(), base))
          for (let popped = 0; popped < 3; popped += 1) pop()
          frame.memory.fill(offset(1), offset(3), Math.max(code, base))
          break
        }
        case 'SELFDESTRUCT':
          this.#read(`balance ${addressAt(0)}`, Math.max(pop(), base))
          break
        case 'MLOAD':
          pop()
          push(most(frame.memory.read(offset(0), 32)))
          break
        case 'MSTORE':
          pop()
          frame.memory.fill(offset(0), 32, pop())
          break
        case 'MSTORE8':
          pop()
          frame.memory.fill(offset(0), 1, pop())
          break
        case 'KECCAK256':
          pop()
          pop()
          push(most(frame.memory.read(offset(0), offset(1))))
          break
        case 'CALLDATALOAD':
          pop()
          push(most(frame.input.subarray(offset(0), offset(0) + 32)))
          break
        case 'CALLDATACOPY':
        case 'RETURNDATACOPY':
        case 'CODECOPY':
        case 'MCOPY': {
          for (let popped = 0; popped < 3; popped += 1) pop()
          const { input, returned, memory } = frame
          const size = offset(2)
          const copied = {
            CALLDATACOPY: input.subarray(offset(1), offset(1) + size),
            RETURNDATACOPY: returned.subarray(offset(1), offset(1) + size),
            MCOPY: op === 'MCOPY' ? memory.read(offset(1), size) : NONE,
            CODECOPY: NONE,
          }[op]
          memory.write(offset(0), copied, size, base)
          break
        }
        case 'ADDRESS':
          push(frame.ofAddress)
          break
        case 'RETURN':
        case 'REVERT':
          frame.returned = frame.memory.read(offset(0), offset(1))
          break
        case 'CALL':
        case 'CALLCODE':
        case 'DELEGATECALL':
        case 'STATICCALL': {
          const hasValue = op === 'CALL' || op === 'CALLCODE'
          const address = addressAt(1)
          const ofCallee = stack.at(-2) ?? base
          for (let popped = 0; popped < (hasValue ? 7 : 6); popped += 1) pop()
          const from = hasValue ? 3 : 2
          const isOwn = op === 'DELEGATECALL' || op === 'CALLCODE'
          const code = this.#codeOf(address, Math.max(ofCallee, base))
          if (op === 'CALL' && word(2) !== 0n) this.#read(`balance ${address}`, Math.max(ofCallee, base))
          return {
            ...{ base: code, stack: [], memory: new Memory(), returned: NONE, creates: false },
            address: isOwn ? frame.address : address,
            ofAddress: isOwn ? frame.ofAddress : Math.max(ofCallee, base),
            input: frame.memory.read(offset(from), offset(from + 1)),
            writes: this.#writes.length,
            into: { at: offset(from + 2), size: offset(from + 3) },
          }
        }
        case 'CREATE':
        case 'CREATE2': {
          for (let popped = 0; popped < (op === 'CREATE' ? 3 : 4); popped += 1) pop()
          const code = Math.max(most(frame.memory.read(offset(1), offset(2))), base)
          return {
            ...{ stack: [], memory: new Memory(), returned: NONE, creates: true, input: NONE },
            base: this.withCodes ? code : 0,
            address: '',
            ofAddress: Math.max(code, frame.ofAddress),
            writes: this.#writes.length,
            into: { at: 0, size: 0 },
          }
        }
        default: {
          const [pops, pushes] = STACK[op] ?? [0, 0]
          let depth = 0
          for (let popped = 0; popped < pops; popped += 1) depth = Math.max(depth, pop())
          if (pushes > 0) push(depth)
        }
      }
    return undefined
  }

  #return(frame: Frame, ended: Frame, next: Step): void {
    if (top(next) === 0n) {
      for (const { written, place, before } of this.#writes.splice(ended.writes).reverse()) {
        if (before === undefined) written.delete(place)
        else written.set(place, before)
      }
    }
    if (ended.creates) {
      this.#madeCode.set(ended.address, this.withCodes ? most(ended.returned) : 0)
      frame.stack.push(Math.max(frame.base, ended.ofAddress))
      return
    }
    const { at, size } = ended.into
    const returned = Math.min(size, ended.returned.length)
    frame.returned = ended.returned
    frame.memory.write(at, ended.returned, returned, frame.base)
    frame.stack.push(frame.base)
  }

  /** For a delegation (EIP-7702), the delegate's code. */
  #codeOf(address: string, known: Depth): Depth {
    const made = this.#madeCode.get(address)
    if (made !== undefined) return made
    const read = this.#read(`code ${address}`, known)
    const code = this.state.code(address)
    const depth = code.startsWith(DELEGATION) ? this.#read(`code 0x${code.slice(DELEGATION.length)}`, read) : read
    return this.withCodes ? depth : 0
  }

  #read(name: string, known: Depth): Depth {
    const depth = Math.min(known + 1, this.#reads.get(name) ?? Number.POSITIVE_INFINITY)
    this.#reads.set(name, depth)
    return depth
  }

  #write(written: Map<string, Depth>, place: string, depth: Depth): void {
    this.#writes.push({ written, place, before: written.get(place) })
    written.set(place, depth)
  }
}

function top(step: Step | undefined): bigint {
  return BigInt(step?.stack?.at(-1) ?? '0x0')
}

function lower(address: string): string {
  return address.toLowerCase()
}

function placeOf(address: string, slot: bigint): string {
  return `${address} ${slot.toString(16)}`
}

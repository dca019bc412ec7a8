import type { Log } from '@ethereumjs/evm'
import type { Address, Hash, Hex } from '@upfront/protocol'
import { AnswerTooLong, type Frame, type FrameKind, type Halt, type Recording } from '@upfront/simulation'
import { hexOf } from '../state/bytes.js'
import { StepLog } from './step-log.js'
import { OpenUses, Uses } from './uses.js'

/** What a frame, a log and a name count as beside their bytes: about what they take in memory and as JSON. */
const FRAME_BYTES = 256
const NAME_BYTES = 128

/** What is known of a frame as it begins. */
export type OpenedFrame = Pick<Frame, 'kind' | 'from' | 'to' | 'input' | 'gas' | 'value' | 'isPrecompile'>

export interface Naming {
  /** By an instruction that could be paid for, or by the transaction itself. */
  isRead: boolean
  /** By any instruction that accesses it. */
  isAccessed: boolean
}

/** Writes down what one call does: see `CallRecord`. */
export class Recorder {
  readonly frames: Frame[] = []
  readonly accounts = new Map<Address, Naming>()
  readonly slots = new Map<Address, Map<Hash, Naming>>()
  /** Addresses of creations. */
  readonly created = new Set<Address>()
  /** Accounts that SELFDESTRUCT removes, reverted or not. */
  readonly removed = new Set<Address>()
  /** Where instructions are written down. */
  readonly steps: StepLog | undefined
  /** Where it is written down what instructions use. */
  readonly uses: Uses | undefined
  /** Of authorizations. */
  refund = 0n
  readonly #open: { frame: Frame; children: number; uses: OpenUses | undefined }[] = []
  #left: number
  readonly #answerBytes: number

  /** @param bytes that may be written down @param answerBytes what the refusal names */
  constructor(
    readonly recording: Recording,
    bytes: number,
    answerBytes: number,
  ) {
    this.#left = bytes
    this.#answerBytes = answerBytes
    this.steps = recording.steps && new StepLog(recording.steps)
    this.uses = recording.uses ? new Uses() : undefined
  }

  /** Bytes that may still be written down. */
  get left(): number {
    return this.#left
  }

  enter(opened: OpenedFrame): void {
    const parent = this.#open.at(-1)
    if (parent) parent.children += 1
    const frame: Frame = { ...opened, depth: this.#open.length, output: '0x', gasUsed: 0n, reverted: false, logs: [] }
    this.#open.push({ frame, children: 0, uses: this.uses && new OpenUses() })
    if (!this.recording.frames) return
    this.take(FRAME_BYTES + opened.input.length / 2)
    this.frames.push(frame)
  }

  exit({
    gasUsed,
    output,
    halt,
    reverted = false,
  }: {
    gasUsed: bigint
    output: Hex
    halt?: Halt
    reverted?: boolean
  }): void {
    const opened = this.#open.pop()
    if (!opened || !this.recording.frames) return
    this.take(output.length / 2)
    const uses = opened.uses && { uses: opened.uses.finish() }
    Object.assign(opened.frame, { gasUsed, reverted, ...(halt ? { halt } : { output }), ...uses })
  }

  /** What the innermost frame uses. */
  get openUses(): OpenUses | undefined {
    return this.#open.at(-1)?.uses
  }

  /** Whether a frame was opened since this one had opened so many. */
  get children(): number {
    return this.#open.at(-1)?.children ?? 0
  }

  log([address, topics, data]: Log): void {
    const opened = this.#open.at(-1)
    if (!opened || !this.recording.frames) return
    this.take(FRAME_BYTES + data.length)
    const log = { address: hexOf(address), topics: topics.map(hexOf), data: hexOf(data) }
    opened.frame.logs.push({ position: opened.children, ...log })
  }

  name(address: Address, naming: Partial<Naming>): void {
    const known = this.accounts.get(address)
    if (known === undefined) this.take(NAME_BYTES)
    this.accounts.set(address, merged(known, naming))
  }

  nameSlot(address: Address, slot: Hash, naming: Partial<Naming>): void {
    let slots = this.slots.get(address)
    if (slots === undefined) {
      slots = new Map()
      this.slots.set(address, slots)
    }
    const known = slots.get(slot)
    if (known === undefined) this.take(NAME_BYTES)
    slots.set(slot, merged(known, naming))
  }

  /** @throws AnswerTooLong */
  take(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new AnswerTooLong(this.#answerBytes)
  }
}

function merged(known: Naming = { isRead: false, isAccessed: false }, more: Partial<Naming>): Naming {
  return { isRead: known.isRead || more.isRead === true, isAccessed: known.isAccessed || more.isAccessed === true }
}

const KINDS: Record<number, FrameKind> = {
  240: 'CREATE',
  241: 'CALL',
  242: 'CALLCODE',
  244: 'DELEGATECALL',
  245: 'CREATE2',
  250: 'STATICCALL',
}

/** The frame that an opcode opens. */
export function frameKindOf(opcode: number): FrameKind {
  return KINDS[opcode]!
}

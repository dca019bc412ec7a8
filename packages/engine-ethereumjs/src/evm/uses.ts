import type { Address, Hash, Hex } from '@upfront/protocol'
import type { FrameUses, NamedContract } from '@upfront/simulation'

const EXTCODESIZE = 0x3b
const INSPECTIONS = [EXTCODESIZE, 0x3c, 0x3f]
const CALLS = [0xf1, 0xf2, 0xf4, 0xfa]
const ISZERO = 0x15
const KECCAK256 = 0x20
const SLOAD = 0x54
const GAS = 0x5a
const RETURN = 0xf3
const REVERT = 0xfd
/** By opcode, which of a frame's counts of slots they add to. */
const COUNTED = { 85: 'writes', 92: 'transientReads', 93: 'transientWrites' } as const
/** geth's `memoryPadLimit`, bytes. */
const MOST_PADDING = 1n << 20n
const ENTRY_BYTES = 80

/** What an instruction finds. */
export interface UsingStep {
  opcode: number
  /** From the top of the stack. */
  operands: readonly bigint[]
  /** Of the frame's memory before it, padded with zeros. */
  read(offset: number, length: number): Uint8Array
  memoryBytes: bigint
  /** Bytes of the code at an address. */
  codeSize(address: Address): Promise<number>
  /** A slot of the frame's contract. */
  slot(slot: Hash): Promise<Hash>
}

/** Of one frame, while it runs. */
export class OpenUses {
  readonly opcodes = new Map<number, number>()
  readonly reads = new Map<Hash, Hash>()
  readonly writes = new Map<Hash, number>()
  readonly transientReads = new Map<Hash, number>()
  readonly transientWrites = new Map<Hash, number>()
  readonly inspected: Address[] = []
  readonly named = new Map<Address, NamedContract>()

  finish(): FrameUses {
    const { inspected, named, ...counts } = this
    const { opcodes, reads, writes, transientReads, transientWrites } = counts
    return {
      opcodes: [...opcodes],
      reads: [...reads],
      writes: [...writes],
      transientReads: [...transientReads],
      transientWrites: [...transientWrites],
      inspected,
      named: [...named.values()],
    }
  }
}

/** What the instructions of a call use, as geth's erc7562Tracer counts it (eth/tracers/native/erc7562.go). */
export class Uses {
  readonly #preimages = new Set<Hex>()
  /** The instruction before, with the address on top of its stack. */
  #last: { opcode: number; address: Address | undefined } | undefined

  /** In ascending order. */
  preimages(): Hex[] {
    return [...this.#preimages].sort((a, b) => (a < b ? -1 : 1))
  }

  /** @returns about how many bytes more it holds */
  async add(frame: OpenUses, step: UsingStep): Promise<number> {
    const { opcode, operands } = step
    let bytes = 0
    if (opcode === RETURN || opcode === REVERT) this.#last = undefined
    const last = this.#last
    const isTest = last?.opcode === EXTCODESIZE && opcode === ISZERO
    if (last?.address && INSPECTIONS.includes(last.opcode) && !isTest) {
      frame.inspected.push(last.address)
      bytes += ENTRY_BYTES
    }
    const named = INSPECTIONS.includes(opcode) ? operands[0] : CALLS.includes(opcode) ? operands[1] : undefined
    if (named !== undefined) {
      const address = addressOf(named)
      if (!frame.named.has(address)) {
        frame.named.set(address, { address, codeSize: await step.codeSize(address), opcode })
        bytes += ENTRY_BYTES
      }
    }
    if (last?.opcode === GAS && !CALLS.includes(opcode)) increase(frame.opcodes, GAS)
    if (opcode !== GAS) increase(frame.opcodes, opcode)
    bytes += await this.#slots(frame, step)
    const [offset, length] = operands
    if (opcode === KECCAK256 && offset !== undefined && length !== undefined) {
      const preimage = hashed(step, BigInt.asIntN(64, offset), BigInt.asIntN(64, length))
      if (preimage !== undefined && !this.#preimages.has(preimage)) {
        this.#preimages.add(preimage)
        bytes += ENTRY_BYTES + preimage.length / 2
      }
    }
    this.#last = { opcode, address: operands[0] === undefined ? undefined : addressOf(operands[0]) }
    return bytes
  }

  async #slots(frame: OpenUses, { opcode, operands, slot }: UsingStep): Promise<number> {
    if (operands[0] === undefined) return 0
    const key: Hash = `0x${operands[0].toString(16).padStart(64, '0')}`
    if (opcode === SLOAD && !frame.reads.has(key) && !frame.writes.has(key)) {
      frame.reads.set(key, await slot(key))
      return ENTRY_BYTES
    }
    const counted = COUNTED[opcode as keyof typeof COUNTED]
    if (counted === undefined) return 0
    return increase(frame[counted], key) === 1 ? ENTRY_BYTES : 0
  }
}

/** What KECCAK256 hashes; undefined where geth's tracer gives up. */
function hashed({ read, memoryBytes }: UsingStep, offset: bigint, length: bigint): Hex | undefined {
  if (offset < 0n || length < 0n || offset + length - memoryBytes > MOST_PADDING) return undefined
  const held = offset + length < memoryBytes ? length : offset < memoryBytes ? memoryBytes - offset : 0n
  const bytes = Buffer.alloc(Number(length))
  if (held > 0n) bytes.set(read(Number(offset), Number(held)))
  return `0x${bytes.toString('hex')}`
}

function increase<K>(counts: Map<K, number>, key: K): number {
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  return count
}

function addressOf(word: bigint): Address {
  return `0x${BigInt.asUintN(160, word).toString(16).padStart(40, '0')}`
}

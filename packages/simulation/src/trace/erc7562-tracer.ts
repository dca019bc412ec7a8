import { type Address, type Erc7562TracerConfig, type Hash, type Hex, toQuantity } from '@upfront/protocol'
import type { CallRecord, Frame, FrameUses } from '../engine/call-record.js'
import { isOutOfGas } from '../present/halt-message.js'
import { type CallFrame, callTrace } from './call-tracer.js'

/** A frame in geth's erc7562Tracer format (eth/tracers/native/erc7562.go), for ERC-4337 bundlers. */
export interface Erc7562Frame extends Omit<CallFrame, 'calls'> {
  accessedSlots: {
    reads: Record<Hash, Hash[]>
    writes: Record<Hash, number>
    transientReads: Record<Hash, number>
    transientWrites: Record<Hash, number>
  }
  extCodeAccessInfo: Address[]
  usedOpcodes: Record<Hex, number>
  contractSize: Record<Address, { contractSize: number; opcode: number }>
  outOfGas: boolean
  /** Only in the outermost frame: inputs of KECCAK256. */
  keccak?: Hex[]
  calls?: Erc7562Frame[]
}

const GAS = 0x5a
/** PUSH0 to SWAP16, POP, arithmetic and comparisons. */
const IGNORED = [
  ...Array.from({ length: 0xa0 - 0x5f }, (_, index) => 0x5f + index),
  ...[0x50, 0x01, 0x03, 0x02, 0x04, 0x14, 0x10, 0x11, 0x12, 0x13, 0x1b, 0x1c, 0x16, 0x17, 0x19, 0x15],
]
const NO_USES: FrameUses = {
  opcodes: [],
  reads: [],
  writes: [],
  transientReads: [],
  transientWrites: [],
  inspected: [],
  named: [],
}

/**
 * A call's frames as a tree, each with what its instructions used.
 * @param firstLog index of the call's first log
 */
export function erc7562Trace(
  record: CallRecord,
  { withLog = false, ignoredOpcodes = IGNORED }: Erc7562TracerConfig = {},
  firstLog = 0,
): Erc7562Frame | null {
  const trace = callTrace(record, { withLog }, firstLog)
  if (trace === null) return null
  const ignored = new Set(ignoredOpcodes)
  let next = 0
  const withUses = ({ calls, ...shown }: CallFrame): Erc7562Frame => {
    const frame = record.frames[next++]!
    const below = calls?.map(withUses)
    return { ...shown, ...usesOf(frame, ignored), ...(below && { calls: below }) }
  }
  const top = withUses(trace)
  return { ...top, ...(record.preimages.length > 0 && { keccak: record.preimages }) }
}

function usesOf(frame: Frame, ignored: ReadonlySet<number>): Omit<Erc7562Frame, keyof CallFrame> {
  const { opcodes, reads, writes, transientReads, transientWrites, inspected, named } = frame.uses ?? NO_USES
  const used = opcodes.filter(([opcode]) => opcode === GAS || !ignored.has(opcode))
  return {
    accessedSlots: {
      reads: Object.fromEntries(reads.map(([slot, value]) => [slot, [value]])),
      writes: Object.fromEntries(writes),
      transientReads: Object.fromEntries(transientReads),
      transientWrites: Object.fromEntries(transientWrites),
    },
    extCodeAccessInfo: inspected,
    usedOpcodes: Object.fromEntries(used.map(([opcode, count]) => [toQuantity(BigInt(opcode)), count])),
    contractSize: Object.fromEntries(
      named.map(({ address, codeSize, opcode }) => [address, { contractSize: codeSize, opcode }]),
    ),
    // geth sets it only for inner frames.
    outOfGas: frame.depth > 0 && ranOut(frame),
  }
}

function ranOut({ halt }: Frame): boolean {
  return halt !== undefined && (halt.kind === 'codeStorageOutOfGas' || isOutOfGas(halt))
}

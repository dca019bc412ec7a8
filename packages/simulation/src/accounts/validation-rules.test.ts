import type { Address, Hex } from '@upfront/protocol'
import { keccak256 } from 'viem'
import type { CallRecord, Frame } from '../engine/call-record.js'
import { operationFrames } from './operation-frames.js'
import { brokenRules, type RuleFacts } from './validation-rules.js'

const SENDER: Address = `0x${'11'.repeat(20)}`
const TOKEN: Address = `0x${'22'.repeat(20)}`
const ENTRY_POINT: Address = `0x${'33'.repeat(20)}`
const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`

const frame: Frame = {
  ...{ kind: 'CALL', depth: 0, from: ENTRY_POINT, to: SENDER, input: '0x', output: '0x', gas: 0n, gasUsed: 0n },
  ...{ reverted: false, isPrecompile: false, logs: [] },
}
const facts: RuleFacts = {
  ...{ entryPoint: ENTRY_POINT, sender: SENDER, staked: new Set<Address>(), accountExisted: true, keccak256 },
}

/** The slots of a token that an account may not read after hashing these words with its own address. */
function brokenBy(slots: readonly bigint[], hashed: readonly bigint[]) {
  const uses = {
    ...{ opcodes: [], writes: [], transientReads: [], transientWrites: [], inspected: [], named: [] },
    reads: slots.map((slot) => [word(slot), word(0n)] as const),
  }
  const preimages = hashed.map((index): Hex => `0x${word(BigInt(SENDER)).slice(2)}${word(index).slice(2)}`)
  const account = [frame, { ...frame, depth: 1, from: SENDER, to: TOKEN, uses }]
  return brokenRules({ account }, { preimages } as unknown as CallRecord, facts).map(({ what }) => BigInt(what))
}
const hashOf = (index: bigint) => BigInt(keccak256(`0x${word(BigInt(SENDER)).slice(2)}${word(index).slice(2)}`))

describe('brokenRules (ERC-7562)', () => {
  it('lets an account read its associated storage: the slot of its address, and up to 128 slots after a hash of it', () => {
    const own = [BigInt(SENDER), ...[0n, 1n, 2n].flatMap((index) => [hashOf(index), hashOf(index) + 128n])]
    const strange = [BigInt(SENDER) + 1n, hashOf(0n) - 1n, hashOf(1n) + 129n, hashOf(3n)]
    expect(brokenBy([...own, ...strange], [0n, 1n, 2n])).toEqual(strange)
  })

  it('reports each of 40,000 foreign slots, with 20,000 hashes to check against', () => {
    const slots = Array.from({ length: 40_000 }, (_, index) => BigInt(index))
    const hashed = Array.from({ length: 20_000 }, (_, index) => BigInt(index))
    expect(brokenBy(slots, hashed)).toHaveLength(40_000)
  })

  it('operationFrames finds the execution frame after 150,000 other frames of the EntryPoint', () => {
    const sending = { ...frame, depth: 1, from: ENTRY_POINT, to: ENTRY_POINT }
    const below = Array.from({ length: 150_000 }, () => ({ ...frame, depth: 2, to: TOKEN }))
    const execution = { ...frame, depth: 2 }
    const frames = [{ ...frame, to: ENTRY_POINT }, sending, ...below, execution]
    expect(operationFrames(frames, { sender: SENDER })).toEqual({ execution: [execution] })
  })
})

import type { Address, BlockStateCall, Hash, StateOverride } from '@upfront/protocol'
import { type Question, wordOf } from '../assets/questions.js'
import type { CallRecord } from '../engine/call-record.js'
import { slotOf } from '../tokens/token-layouts.js'
import type { Run, Simulation } from './simulate.js'

/** A slot of an account, and what it is to hold. */
export interface SlotValue {
  address: Address
  slot: Hash
  value: bigint
}

/** What one question may use. */
const QUESTION_GAS = 1_000_000n

/** Asks contracts at the beginning of one of a simulation's blocks. */
export class Prober {
  /** That all questions together took. */
  gas = 0n
  readonly #simulation: Simulation
  readonly #before: readonly BlockStateCall[]
  readonly #block: BlockStateCall
  readonly #run: Run

  /** @param block at whose beginning is asked; `before` are those before it */
  constructor(simulation: Simulation, before: readonly BlockStateCall[], block: BlockStateCall, run: Run) {
    this.#simulation = simulation
    this.#before = before
    this.#block = block
    this.#run = run
  }

  /**
   * What contracts did to answer, in the order of the questions.
   * @param slots set before
   * @throws or rejects with what the run does
   */
  async ask(questions: readonly Question[], slots: readonly SlotValue[] = []): Promise<CallRecord[]> {
    const { request } = this.#simulation
    const calls = questions.map(({ to, input }) => ({ to, input, gas: QUESTION_GAS }))
    const block = { ...withSlots(this.#block, slots), calls }
    const shown = { validation: false, traceTransfers: false, returnFullTransactions: false }
    const asked = { ...request, ...shown, blockStateCalls: [...this.#before, block] }
    const recording = { frames: true, state: true }
    const { records, gasUsed } = await this.#run({ ...this.#simulation, request: asked, recording })
    this.gas += gasUsed
    return records.slice(-questions.length)
  }

  /** What a view answers with a slot set; undefined where it fails. */
  async answer(question: Question, slot: SlotValue): Promise<bigint | undefined> {
    const [record] = await this.ask([question], [slot])
    return answerIn(record)
  }
}

/** The first word that a view gave; undefined where it failed. */
export function answerIn(record: CallRecord | undefined): bigint | undefined {
  const frame = record?.frames[0]
  return frame === undefined || frame.reverted || frame.halt !== undefined ? undefined : wordOf(frame.output)
}

/** The block with slots set beside its own overrides. */
export function withSlots<B extends Pick<BlockStateCall, 'stateOverrides'>>(block: B, slots: readonly SlotValue[]): B {
  const overrides = new Map(block.stateOverrides.map((override) => [override.address, override]))
  for (const { address, slot, value } of slots) {
    const override: StateOverride = overrides.get(address) ?? { address }
    const field = override.state === undefined ? 'stateDiff' : 'state'
    const others = (override[field] ?? []).filter(([other]) => other !== slot)
    overrides.set(address, { ...override, [field]: [...others, [slot, slotOf(value)]] })
  }
  const stateOverrides = [...overrides.values()].sort((one, other) => (one.address < other.address ? -1 : 1))
  return { ...block, stateOverrides }
}

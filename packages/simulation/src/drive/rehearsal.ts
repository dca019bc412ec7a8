import type { BlockStateCall, Call, StateOverride } from '@upfront/protocol'
import { mergeOverrides } from '../accounts/merge-overrides.js'
import type { CallRecord } from '../engine/call-record.js'
import type { Recording } from '../plan/recording.js'
import { gasOf, type Run, type Simulation } from './simulate.js'

const WHOLE: Recording = { frames: true, state: true, uses: true }

/** Runs trial calls at a position in the request, after everything before it. */
export class Rehearsal {
  /** Gas used by all runs. */
  gas = 0n
  readonly simulation: Simulation
  readonly #before: readonly BlockStateCall[]
  readonly #block: BlockStateCall
  readonly #run: Run
  readonly #recording: Recording

  /**
   * @param before the preceding blocks
   * @param block with its calls up to this position
   */
  constructor(
    simulation: Simulation,
    before: readonly BlockStateCall[],
    block: BlockStateCall,
    run: Run,
    recording: Recording = WHOLE,
  ) {
    this.simulation = simulation
    this.#before = before
    this.#block = block
    this.#run = run
    this.#recording = recording
  }

  /**
   * @param more overrides on top of the block's
   * @returns the calls' records, in order
   * @throws or rejects with what the run does
   */
  async run(calls: readonly Call[], more: readonly StateOverride[] = []): Promise<CallRecord[]> {
    const { request } = this.simulation
    const block = {
      ...this.#block,
      stateOverrides: mergeOverrides(this.#block.stateOverrides, more),
      calls: [...this.#block.calls, ...calls],
    }
    const shown = { validation: false, traceTransfers: false, returnFullTransactions: false }
    const asked = { ...request, ...shown, blockStateCalls: [...this.#before, block] }
    const answer = await this.#run({ ...this.simulation, request: asked, recording: this.#recording })
    this.gas += gasOf(answer)
    return answer.records.slice(-calls.length)
  }
}

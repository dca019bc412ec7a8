import { type BlockStateCall, ErrorCode, RpcError, type TokenSetting } from '@upfront/protocol'
import type { TokenLayouts } from '../tokens/token-layouts.js'
import { findSlot, NotSettable, questionOf } from './find-slot.js'
import { answerIn, probe, type SlotValue, withSlots } from './prober.js'
import { Rehearsal } from './rehearsal.js'
import type { Run, Simulation } from './simulate.js'

/** Recorded to see which slots a view reads. */
const NEEDED = { frames: true, state: true }

/**
 * The simulation with token balances and allowances set, as slots on top of its own overrides. Finally all of them are verified by reading
 * them from the tokens.
 * @param layouts fields found earlier, if they may be used; the gas used then depends on them
 * @returns `gas`: used by the runs
 * @throws RpcError -32602 with the place of an amount that can't be set, and the reason; what `run` does
 */
export async function setTokens(
  simulation: Simulation,
  settings: readonly TokenSetting[],
  run: Run,
  layouts?: TokenLayouts,
): Promise<{ simulation: Simulation; gas: bigint }> {
  const blocks: BlockStateCall[] = []
  let gas = 0n
  for (const [index, block] of simulation.request.blockStateCalls.entries()) {
    const own = settings.filter((setting) => setting.block === index)
    if (own.length === 0) {
      blocks.push(block)
      continue
    }
    const rehearsal = new Rehearsal(simulation, blocks, { ...block, calls: [] }, run, NEEDED)
    const slots: SlotValue[] = []
    for (const setting of own) {
      const slot = await explained(setting, () => findSlot(setting, rehearsal, layouts))
      if (slot === undefined) continue
      if (slots.some(({ address, slot: other }) => address === slot.address && other === slot.slot))
        throw refused(setting, 'the token stores it in the same slot as another value to be set')
      slots.push(slot)
    }
    const proof = await probe(rehearsal, own.map(questionOf), slots)
    for (const [at, setting] of own.entries()) {
      const answer = answerIn(proof[at])
      if (answer !== setting.amount)
        throw refused(setting, `once it is set, the token returns ${answer ?? 'nothing'} instead`)
    }
    gas += rehearsal.gas
    blocks.push(withSlots(block, slots))
  }
  return { simulation: { ...simulation, request: { ...simulation.request, blockStateCalls: blocks } }, gas }
}

async function explained<T>(setting: TokenSetting, find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof NotSettable) throw refused(setting, error.message)
    throw error
  }
}

function refused({ place }: TokenSetting, reason: string): RpcError {
  return new RpcError(ErrorCode.invalidParams, `${place}: ${reason}`)
}

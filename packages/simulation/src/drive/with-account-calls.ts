import type { AccountCall, BlockStateCall } from '@upfront/protocol'
import { mergeOverrides } from '../accounts/merge-overrides.js'
import type { OperationCall } from '../accounts/operation-call.js'
import type { SafeCall } from '../accounts/safe-call.js'
import { baseFeeParameters, nextBaseFee } from '../plan/base-fee.js'
import { impliedRules } from '../plan/infer-chain-rules.js'
import { rulesAt } from '../plan/rules-at.js'
import { makeOperationCall } from './make-operation-call.js'
import { makeSafeCall } from './make-safe-call.js'
import { Rehearsal } from './rehearsal.js'
import type { Run, Simulation } from './simulate.js'

/** A call made from a user operation or Safe transaction, with a rehearsal at its position. */
export type MadeCall = { position: AccountCall; rehearsal: Rehearsal } & (
  | { kind: 'userOperation'; made: OperationCall }
  | { kind: 'safe'; made: SafeCall }
)

/**
 * The simulation with user operations and Safe transactions turned into calls, each made after everything before it.
 * @param given in the order of the request
 * @throws RpcError with the place of one that can't be executed; what `run` does
 */
export async function withAccountCalls(
  simulation: Simulation,
  given: readonly AccountCall[],
  run: Run,
): Promise<{ simulation: Simulation; made: MadeCall[] }> {
  const blocks: BlockStateCall[] = []
  const made: MadeCall[] = []
  for (const [index, asked] of simulation.request.blockStateCalls.entries()) {
    const own = given.filter(({ block }) => block === index)
    let block = own.some(({ kind }) => kind === 'userOperation') ? withBaseFee(asked, simulation) : asked
    for (const position of own) {
      const { call: at } = position
      const before = { ...block, calls: block.calls.slice(0, at) }
      const rehearsal = new Rehearsal(simulation, [...blocks], before, run)
      const one: MadeCall =
        position.kind === 'safe'
          ? {
              position,
              rehearsal,
              kind: 'safe',
              made: await makeSafeCall(position.transaction, position.place, rehearsal),
            }
          : {
              ...{ position, rehearsal, kind: 'userOperation' },
              made: await makeOperationCall(position.operation, position.entryPoint, rehearsal),
            }
      made.push(one)
      block = {
        ...block,
        stateOverrides: mergeOverrides(block.stateOverrides, one.made.overrides),
        calls: block.calls.map((call, place) => (place === at ? one.made.call : call)),
      }
    }
    blocks.push(block)
  }
  return { simulation: { ...simulation, request: { ...simulation.request, blockStateCalls: blocks } }, made }
}

/** An operation pays by the base fee, which is 0 without validation. */
function withBaseFee(block: BlockStateCall, { base, rules, opening }: Simulation): BlockStateCall {
  const baseRules = rulesAt(rules, base.number, base.timestamp) ?? impliedRules(base, rules)
  const next =
    opening?.baseFeePerGas ??
    (baseRules && nextBaseFee(base, baseRules, baseFeeParameters(rules, base, baseRules, baseRules)))
  const blockOverrides = { ...(next !== undefined && { baseFeePerGas: next }), ...block.blockOverrides }
  return { ...block, blockOverrides }
}

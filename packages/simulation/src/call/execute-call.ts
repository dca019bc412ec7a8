import type { OpeningBlock } from '@upfront/head'
import type { CancelSignal } from '@upfront/node'
import { type BlockHeader, type CallRequest, ErrorCode, RpcError } from '@upfront/protocol'
import type { Engine, ExecutedCall } from '../engine/engine.js'
import { SimulationRejected } from '../engine/engine.js'
import type { StateSource } from '../engine/state-source.js'
import type { ChainRules } from '../plan/chain-rules.js'
import { planSimulation } from '../plan/plan-simulation.js'

/** Where a single call runs: inside a block that is not sealed yet. */
export interface CallSite {
  engine: Engine
  rules: ChainRules
  /** Parent of the block under construction. */
  base: BlockHeader
  /** The block under construction, and the rules that apply to it. */
  opening: OpeningBlock & { gasLimit: bigint }
  state: StateSource
  /** Gas that a call gets at most. */
  gasCap: bigint
  signal: CancelSignal
}

/**
 * Runs one call in the block under construction, as `eth_call` does: nothing is checked that a real transaction would need,
 * save that the sender has the value it sends.
 * @throws RpcError -32000 where the call is no transaction, in geth's words
 */
export async function executeCall(request: CallRequest, site: CallSite): Promise<ExecutedCall> {
  const { engine, rules, base, opening, state, gasCap, signal } = site
  const most = least(opening.gasLimit, gasCap)
  const wanted = request.call.gas ?? most
  const plan = planSimulation(
    {
      blockStateCalls: [
        {
          calls: [{ ...request.call, gas: least(wanted, most) }],
          stateOverrides: request.stateOverrides,
          blockOverrides: request.blockOverrides,
        },
      ],
      traceTransfers: false,
      validation: false,
      returnFullTransactions: false,
      block: request.block,
    },
    base,
    rules,
    { blocks: 1, callsPerBlock: 1, totalCalls: 1, gas: most },
    opening,
  )
  try {
    const { blocks } = await engine.simulate(plan, state, signal)
    return blocks[0]?.calls[0] as ExecutedCall
  } catch (error) {
    if (error instanceof SimulationRejected) throw new RpcError(ErrorCode.serverError, error.message)
    throw error
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

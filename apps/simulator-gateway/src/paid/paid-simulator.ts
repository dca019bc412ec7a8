import { Injectable } from '@nestjs/common'
import { newestBlock } from '@upfront/chain'
import type { Awaitable } from '@upfront/node'
import type { ReceiptBlock } from '@upfront/receipt'
import type { Simulation, SimulationAnswer } from '@upfront/simulation'
import { refused } from '../limits/refused.js'
import type { RequestView } from '../pending/request-view.js'
import type { ShownSimulation } from '../requests/rpc-method.js'
import type { SimulationContext } from '../simulate/simulation-context.js'
import { type SimulationMethod, Simulator } from '../simulate/simulator.js'
import { WitnessMaker } from './witness-maker.js'

export interface PaidSimulation {
  answer: SimulationAnswer
  /** The block and state that it was simulated on. */
  block: ReceiptBlock
  /** The witness as JSON bytes, if requested. */
  witness?: Buffer
}

/** Runs paid simulations, with the data for their bills. */
@Injectable()
export class PaidSimulator {
  constructor(
    private readonly simulator: Simulator,
    private readonly witnesses: WitnessMaker,
  ) {}

  /**
   * @param params of the method
   * @throws or rejects with RpcError or ClientGone
   */
  simulate(
    method: SimulationMethod,
    params: unknown,
    context: SimulationContext,
    { withWitness }: { withWitness: boolean },
  ): Awaitable<PaidSimulation> {
    return this.simulator.simulate(method, params, context, (answer, simulation, inspection) =>
      this.sold({ answer, simulation, inspection }, context.view, { withWitness }),
    )
  }

  /** The data for a simulation's bill. @throws or rejects with what making the witness throws */
  sold(
    { answer, simulation, inspection }: Omit<ShownSimulation, 'params'>,
    view: RequestView,
    { withWitness }: { withWitness: boolean },
  ): Awaitable<PaidSimulation> {
    const sold = { answer, block: receiptBlock(simulation, view) }
    if (!withWitness) return sold
    const made = this.witnesses.of(simulation, sold, inspection)
    return made.then((witness) => ({ ...sold, witness }))
  }
}

/** The block of a simulation, for its receipt. */
function receiptBlock({ base, opening, state, rules }: Simulation, { snapshot }: RequestView): ReceiptBlock {
  const on = { chainId: rules.chainId.toString(), number: base.number.toString(), hash: base.hash }
  if (snapshot !== undefined && snapshot !== 'none' && snapshot.state === state) {
    const { payloadId, index, transactions } = newestBlock(snapshot)
    const executed = transactions.map(({ hash }) => hash)
    return { ...on, state: 'preconfirmed', payloadId, flashblock: index, transactions: executed }
  }
  const none = { flashblock: 0, transactions: [] }
  return opening === undefined
    ? { ...on, state: 'canonical', payloadId: '0x', ...none }
    : { ...on, state: 'pending', payloadId: state.key, ...none }
}

/**
 * The `witness` query parameter: `1`, or `0` (default).
 * @throws RpcError -32600 (HTTP 400)
 */
export function wantsWitness(query: unknown): boolean {
  const { witness } = query as { witness?: unknown }
  if (witness === undefined || witness === '0') return false
  if (witness === '1') return true
  throw refused(400, 'witness: expected 0 or 1')
}

import { swapV2, swapV3, tokenTransfer } from '../workloads/calls.js'
import type { SimulatedCall, Stage } from '../workloads/workload.js'
import { load, quantile } from './load.js'
import type { Stand } from './stand.js'

const CALLS: Record<string, (stage: Stage) => SimulatedCall> = {
  'one ERC-20 transfer': tokenTransfer,
  'Uniswap v2 swap': swapV2,
  'Uniswap v3 swap': (stage) => swapV3(stage),
}
const SHOWN = { plain: {}, depends: { depends: true }, outcome: { outcome: true } }

/** CPU milliseconds per request of our gateway, by what it shows. */
export type OutcomeFigures = Record<keyof typeof SHOWN, number>

/** Compares the cost of `depends` and `outcome` with the plain simulation, in turns; medians over the rounds. */
export async function measureOutcome(
  { upfront, stage }: Stand,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<Record<string, OutcomeFigures>> {
  const figures: Record<string, OutcomeFigures> = {}
  for (const [title, call] of Object.entries(CALLS)) {
    const found: Record<keyof typeof SHOWN, number[]> = { plain: [], depends: [], outcome: [] }
    for (let round = 0; round <= rounds; round++)
      for (const [name, shown] of Object.entries(SHOWN) as [keyof typeof SHOWN, object][]) {
        const payload = { blockStateCalls: [{ calls: [call(stage)] }], ...shown }
        const warmUp = round === 0 ? 4 * seconds : seconds
        const run = await load(upfront, () => payload, { seconds: warmUp, concurrency: 1, method: 'upfront_simulate' })
        if (round > 0) found[name].push(run.cpu / run.requests)
      }
    const { plain, depends, outcome } = found
    figures[title] = { plain: quantile(plain, 0.5), depends: quantile(depends, 0.5), outcome: quantile(outcome, 0.5) }
  }
  return figures
}

import type { SimulatedBlock } from '@upfront/protocol'
import type { ReceiptMethod } from '../receipt.js'

/** Gas counted per byte of an `upfront_simulate` result, for building, holding and sending it. */
export const GAS_PER_RESULT_BYTE = 100n

/** Work of one answer in addition to its calls. */
export interface FurtherWork {
  /** Gas of the runs after the first, and of calls that ask contracts. */
  furtherGas: bigint | string
  /** Length of `result` in UTF-8, as JSON without white space. */
  resultBytes: number
}

/**
 * What a bill counts as gas in addition to the calls, as decimals. `eth_simulateV1`: nothing. `preview`: the further runs.
 * `upfront_simulate`: the further runs, then 100 per byte of the result.
 */
export function gasBesideCalls(method: ReceiptMethod, { furtherGas, resultBytes }: FurtherWork): string[] {
  if (method === 'eth_simulateV1') return []
  if (method === 'preview') return [furtherGas.toString()]
  return [furtherGas.toString(), (GAS_PER_RESULT_BYTE * BigInt(resultBytes)).toString()]
}

/** Gas of each call of a simulation, decimal, in the order of the answer. */
export function gasByCall(blocks: readonly SimulatedBlock[]): string[] {
  return blocks.flatMap(({ calls }) => calls.map(({ gasUsed }) => BigInt(gasUsed).toString()))
}

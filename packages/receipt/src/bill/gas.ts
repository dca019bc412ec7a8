import type { SimulatedBlock } from '@upfront/protocol'
import type { ReceiptMethod } from '../receipt.js'

/** What a byte of an `upfront_simulate` result counts as: it is put together, held and sent. */
export const GAS_PER_RESULT_BYTE = 100n

/** What one answer took beside its calls. */
export interface FurtherWork {
  /** Gas of the runs after the first, and of questions to contracts. */
  furtherGas: bigint | string
  /** Length of the `result` as JSON without white space, in UTF-8. */
  resultBytes: number
}

/**
 * What a bill counts as gas beside that of the calls, decimal. `eth_simulateV1`: nothing. `preview`: the further runs. `upfront_simulate`:
 * the further runs, then 100 for each byte of the result.
 */
export function gasBesideCalls(method: ReceiptMethod, { furtherGas, resultBytes }: FurtherWork): string[] {
  if (method === 'eth_simulateV1') return []
  if (method === 'preview') return [furtherGas.toString()]
  return [furtherGas.toString(), (GAS_PER_RESULT_BYTE * BigInt(resultBytes)).toString()]
}

/** The gas of each call of a simulation, decimal, in the order of the answer. */
export function gasByCall(blocks: readonly SimulatedBlock[]): string[] {
  return blocks.flatMap(({ calls }) => calls.map(({ gasUsed }) => BigInt(gasUsed).toString()))
}

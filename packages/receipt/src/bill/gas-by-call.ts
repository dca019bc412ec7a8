import type { SimulatedBlock } from '@upfront/protocol'

/** The gas of each call of a simulation, decimal, in the order of the answer. */
export function gasByCall(blocks: readonly SimulatedBlock[]): string[] {
  return blocks.flatMap(({ calls }) => calls.map(({ gasUsed }) => BigInt(gasUsed).toString()))
}

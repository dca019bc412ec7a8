import type { RecordedBlock } from '@upfront/devnet'

type Call = Record<string, unknown>

/** First parameter of `eth_simulateV1`. */
export interface Payload {
  blockStateCalls: { blockOverrides?: Record<string, unknown>; calls: Call[] }[]
}

export interface SimulatedCall {
  gasUsed: `0x${string}`
  logs: unknown[]
}

/** A swap involves several tokens and pools, but is not a large batch. */
const MIN_LOGS = 4
const MAX_GAS = 600_000
const DEPOSIT = '0x7e'

/** All transactions of the block as calls without a gas price, in that block. */
export function callsOf({ block }: RecordedBlock): Payload {
  const { number, timestamp: time, gasLimit, miner: feeRecipient, mixHash: prevRandao, baseFeePerGas } = block
  const calls = (block.transactions as Call[]).map(({ from, to, gas, value, input }) => ({
    ...{ from, gas, value, input },
    ...(to !== null && { to }),
  }))
  return {
    blockStateCalls: [{ blockOverrides: { number, time, gasLimit, feeRecipient, prevRandao, baseFeePerGas }, calls }],
  }
}

/** The call with the most gas that looks like a swap, alone in the same block. */
export function busiestSwap(recorded: RecordedBlock, simulated: readonly SimulatedCall[]): Payload | undefined {
  const transactions = recorded.block.transactions as Call[]
  const {
    blockStateCalls: [block],
  } = callsOf(recorded)
  let best: number | undefined
  for (const [index, { gasUsed, logs }] of simulated.entries()) {
    if (logs.length < MIN_LOGS || Number(gasUsed) >= MAX_GAS || transactions[index]!.type === DEPOSIT) continue
    if (best === undefined || Number(gasUsed) > Number(simulated[best]!.gasUsed)) best = index
  }
  if (best === undefined) return undefined
  return { blockStateCalls: [{ ...block!, calls: [block!.calls[best]!] }] }
}

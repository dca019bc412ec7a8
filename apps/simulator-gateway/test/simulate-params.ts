/** Address of the code under test. */
export const TARGET = '0x00000000000000000000000000000000000c0de5'

/** The params of a request that calls `code`, put at `TARGET` by an override. */
export function callOf(
  code: string,
  call: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
): unknown[] {
  const blockStateCalls = [{ stateOverrides: { [TARGET]: { code } }, calls: [{ to: TARGET, ...call }] }]
  return [{ blockStateCalls, ...more }, 'latest']
}

export interface BlockResult {
  number: string
  hash: string
  parentHash: string
  timestamp: string
  gasUsed: string
  baseFeePerGas: string
  transactions: unknown[]
  calls: CallResult[]
}

export interface CallResult {
  status: string
  gasUsed: string
  returnData: string
  logs: { address: string; topics: string[]; data: string; blockHash: string }[]
  error?: string | { code: number; message: string; data?: string }
}

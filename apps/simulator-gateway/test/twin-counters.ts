import { createTestClient, type Hex, http } from 'viem'
import { assemble } from './assemble.js'

/** Counts every transaction in two slots; called with data, returns both and the block's number. */
export const TWIN_COUNTERS: Hex = '0x00000000000000000000000000000000000c0de5'

const CODE = assemble(`
  CALLDATASIZE >read JUMPI
  0 SLOAD 1 ADD 0 SSTORE
  1 SLOAD 1 ADD 1 SSTORE STOP
  @read 0 SLOAD 0 MSTORE 1 SLOAD 32 MSTORE NUMBER 64 MSTORE 96 0 RETURN`)

export async function placeTwinCounters(rpcUrl: string): Promise<void> {
  await createTestClient({ mode: 'anvil', transport: http(rpcUrl) }).setCode({ address: TWIN_COUNTERS, bytecode: CODE })
}

/** A simulation that reads the counters, in each of two blocks. */
export const READ_TWINS = [
  {
    blockStateCalls: [
      { calls: [{ to: TWIN_COUNTERS, data: '0x01' }] },
      { calls: [{ to: TWIN_COUNTERS, data: '0x01' }] },
    ],
  },
  'pending',
]

export interface Twins {
  first: bigint
  second: bigint
  number: bigint
}

export function twinsFrom(returnData: string): Twins {
  const word = (at: number) => BigInt(`0x${returnData.slice(2 + 64 * at, 66 + 64 * at)}`)
  return { first: word(0), second: word(1), number: word(2) }
}

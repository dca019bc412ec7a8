import type { Awaitable } from '@upfront/node'
import { type Address, ErrorCode, RpcError } from '@upfront/protocol'
import {
  type Engine,
  readKey,
  type Simulation,
  type SimulationAnswer,
  type StateRead,
  type StateValue,
  simulate,
} from '@upfront/simulation'
import { ReadingDriver } from './reading-driver.js'

/** Each account has a proof of its own, each value a place in the answer. */
const MOST_VALUES = 10_000

export interface RecordedReads {
  answer: SimulationAnswer
  /** Each value once; of every account balance, nonce and code, so that another engine finds what it reads of it. */
  values: (readonly [StateRead, StateValue])[]
}

/**
 * Simulates once more, and keeps every value that is read.
 * @param read gives values in the order of its reads, those of pre-confirmed state included
 * @throws or rejects with what `simulate` and `read` do; RpcError -32005 where it is more than a witness holds
 */
export async function recordReads(
  simulation: Simulation,
  engine: Engine,
  read: (reads: readonly StateRead[]) => Awaitable<readonly StateValue[]>,
): Promise<RecordedReads> {
  const values = new Map<string, readonly [StateRead, StateValue]>()
  const keep = async (reads: readonly StateRead[]) => {
    if (values.size + reads.length > MOST_VALUES)
      throw new RpcError(ErrorCode.limitExceeded, `a witness holds at most ${MOST_VALUES} values of state`)
    const got = await read(reads)
    for (const [index, asked] of reads.entries()) values.set(readKey(asked), [asked, got[index]!])
    return got
  }
  const answer = await simulate({ ...simulation, driver: new ReadingDriver(engine, keep) })
  const rest = [...accountsIn(values.values())].flatMap((address) =>
    (['balance', 'nonce', 'code'] as const)
      .map((kind): StateRead => ({ kind, address }))
      .filter((asked) => !values.has(readKey(asked))),
  )
  if (rest.length > 0) await keep(rest)
  return { answer, values: [...values.values()] }
}

function accountsIn(values: Iterable<readonly [StateRead, StateValue]>): Set<Address> {
  const accounts = new Set<Address>()
  for (const [asked] of values) if (asked.kind !== 'blockHash') accounts.add(asked.address)
  return accounts
}

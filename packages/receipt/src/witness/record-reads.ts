import type { Awaitable } from '@upfront/node'
import { type Address, ErrorCode, type Hash, type Inspection, RpcError } from '@upfront/protocol'
import {
  type Engine,
  inspect,
  readKey,
  type Simulation,
  type SimulationAnswer,
  type StateRead,
  type StateValue,
  simulate,
  type TouchedList,
} from '@upfront/simulation'
import { neededReads } from './needed-reads.js'
import { ReadingDriver } from './reading-driver.js'

/** Each account has its own proof, and each value takes space in the answer. */
const MAX_VALUES = 10_000

/** A simulation's result, and the values needed to execute it again. */
export interface RecordedReads {
  answer: SimulationAnswer
  touched: TouchedList
  /** Each value once. Includes all touched slots, and balance, nonce and code of each account, for engines that read more. */
  values: (readonly [StateRead, StateValue])[]
}

/**
 * Simulates again and records every value that is read and needed (`neededReads`), plus those that other engines would read.
 * @param inspection requested in addition to the result; then all values read by its runs are needed
 * @param read returns values in the order of its reads, including those of pre-confirmed state
 * @throws or rejects with the errors of `simulate` and `read`; RpcError -32005 if there are more values than a witness holds
 */
export async function recordReads(
  simulation: Simulation,
  engine: Engine,
  read: (reads: readonly StateRead[]) => Awaitable<readonly StateValue[]>,
  inspection?: Inspection,
): Promise<RecordedReads> {
  const values = new Map<string, readonly [StateRead, StateValue]>()
  const keep = async (reads: readonly StateRead[]) => {
    if (values.size + reads.length > MAX_VALUES)
      throw new RpcError(ErrorCode.limitExceeded, `a witness holds at most ${MAX_VALUES} values of state`)
    const got = await read(reads)
    for (const [index, asked] of reads.entries()) values.set(readKey(asked), [asked, got[index]!])
    return got
  }
  const execute = (readAll: typeof keep) => {
    const asked = { ...simulation, listTouched: true, driver: new ReadingDriver(engine, readAll) }
    return inspection === undefined ? simulate(asked) : inspect(asked, inspection)
  }
  const answer = await execute(keep)
  const touched = answer.touchedList!
  const used = new Set<string>()
  if (inspection !== undefined || [...values.values()].some(([{ kind }]) => kind === 'blockHash')) {
    // Engines run ahead on guesses. In this second run the values are known and the guesses correct, so only used values are read.
    await execute(async (reads) => {
      for (const asked of reads) used.add(readKey(asked))
      const unseen = reads.filter((asked) => !values.has(readKey(asked)))
      if (unseen.length > 0) await keep(unseen)
      return reads.map((asked) => values.get(readKey(asked))![1])
    })
    for (const [key, [{ kind }]] of values) if (kind === 'blockHash' && !used.has(key)) values.delete(key)
  }
  const reads = Array.from(values.values(), ([asked]) => asked)
  const needed = new Set(neededReads(reads, touched, simulation))
  const isNeeded = (asked: StateRead) => needed.has(asked) || (inspection !== undefined && used.has(readKey(asked)))
  for (const [key, [asked]] of values) if (!isNeeded(asked)) values.delete(key)
  const slots = touchedReads(touched, simulation)
  const accounts = accountsIn([...Array.from(values.values(), ([asked]) => asked), ...slots])
  const fields = [...accounts].flatMap((address) =>
    (['balance', 'nonce', 'code'] as const).map((kind): StateRead => ({ kind, address })),
  )
  const rest = [...slots, ...fields].filter((asked) => !values.has(readKey(asked)))
  if (rest.length > 0) await keep(rest)
  return { answer, touched, values: [...values.values()] }
}

/**
 * The touched slots, except those that the overrides of the request's first block set. Engines differ in which slots they know without
 * reading, so all of the others go into the witness.
 */
function touchedReads({ slots }: TouchedList, { request }: Pick<Simulation, 'request'>): StateRead[] {
  const overrides = new Map(request.blockStateCalls[0]?.stateOverrides.map((override) => [override.address, override]))
  const isSet = (address: Address, slot: Hash) => {
    const { state, stateDiff } = overrides.get(address) ?? {}
    return state !== undefined || (stateDiff?.some(([set]) => set === slot) ?? false)
  }
  return slots.flatMap(({ address, slot }) => (isSet(address, slot) ? [] : [{ kind: 'storage', address, slot }]))
}

function accountsIn(reads: readonly StateRead[]): Set<Address> {
  return new Set(reads.flatMap((asked) => (asked.kind === 'blockHash' ? [] : [asked.address])))
}

import { randomBytes, randomInt } from 'node:crypto'
import { type Dialect, decodeSimulationRequest, type Inspection, ZERO_HASH } from '@upfront/protocol'
import {
  type Engine,
  type InspectedBlock,
  inspect,
  pinnedState,
  ReadBudget,
  readKey,
  type Simulation,
  type StateRead,
  type StateValue,
  simulate,
  type TouchedList,
} from '@upfront/simulation'
import { jsonHash } from '../json-hash.js'
import { neededReads } from '../witness/needed-reads.js'
import { ReadingDriver } from '../witness/reading-driver.js'
import type { DecodedWitness } from '../witness/witness.js'

/** Result of executing a simulation on its witness. */
export interface Replayed {
  blocks: InspectedBlock[]
  /** Gas of an inspection's runs after the first. */
  furtherGas: string
  touched: TouchedList
  /** Values in the witness that should not be there: see `neededReads`. */
  unneeded: StateRead[]
}

const FIELDS = ['balance', 'nonce', 'code'] as const

const TIMEOUT_MS = 300_000

/** A simulation to execute again. */
export interface Replay {
  /** Params of `eth_simulateV1`. */
  params: unknown
  dialect: Dialect
  /** Inspection requested in addition to the result. */
  inspection?: Inspection
}

/**
 * Executes a request again on a witness alone.
 *
 * Engines also read values that don't affect the result (slots of an access list before use, the balance of a precompile), and they differ
 * in which. So values missing in the witness are assumed: zero in a first run, random in a second. If both runs agree, the values did not
 * matter.
 * @throws or rejects with Error if the request is refused, or the result depends on a missing value
 */
export async function replay(witness: DecodedWitness, asked: Replay, engine: Engine): Promise<Replayed> {
  const lacking = new Map<string, StateRead>()
  const used = new Set<string>()
  const execute = (assumed: (read: StateRead) => StateValue) =>
    executeOn(witness, asked, engine, (read) => {
      const value = valueIn(witness, read)
      used.add(readKey(read))
      if (value === undefined) lacking.set(readKey(read), read)
      return value ?? assumed(read)
    })
  const first = await execute(emptyValue)
  if (lacking.size > 0) {
    const again = await execute(randomValue).catch(() => undefined)
    if (again === undefined || jsonHash({ ...again }) !== jsonHash({ ...first })) {
      const names = [...lacking.values()].map(describe)
      throw new Error(`the result depends on what the witness lacks: ${names.slice(0, 5).join('; ')}`)
    }
  }
  return { ...first, unneeded: unneededIn(witness, asked, first.touched, used) }
}

async function executeOn(
  witness: DecodedWitness,
  { params, dialect, inspection }: Replay,
  engine: Engine,
  read: (read: StateRead) => StateValue,
): Promise<Omit<Replayed, 'unneeded'>> {
  const { base, limits } = witness
  const simulation: Simulation = {
    request: decodeSimulationRequest(params, limits),
    base,
    opening: witness.opening,
    state: pinnedState({ header: base, key: base.hash }),
    rules: witness.rules,
    driver: new ReadingDriver(engine, (reads) => reads.map(read)),
    limits,
    daFootprintScalar: witness.daFootprintScalar,
    budget: new ReadBudget(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    cancellation: { signal: AbortSignal.timeout(TIMEOUT_MS) },
    dialect,
    listTouched: true,
  }
  const {
    json,
    furtherGas = 0n,
    touchedList,
  } = await (inspection === undefined ? simulate(simulation) : inspect(simulation, inspection))
  return { blocks: JSON.parse(json.toString()), furtherGas: furtherGas.toString(), touched: touchedList! }
}

/** @param used keys of the values that execution read */
function unneededIn(
  witness: DecodedWitness,
  { params, inspection }: Replay,
  touched: TouchedList,
  used: ReadonlySet<string>,
): StateRead[] {
  const reads = [...witness.accounts].flatMap(([address, { storage }]): StateRead[] => [
    { kind: 'balance', address },
    ...Array.from(storage.keys(), (slot): StateRead => ({ kind: 'storage', address, slot })),
  ])
  const request = decodeSimulationRequest(params, witness.limits)
  const needed = new Set(neededReads(reads, touched, { ...witness, rules: witness.rules, request }))
  // The hashes of the base and its parent are in the base's header. Some engines take them from there, others read them.
  const inHeader = (number: bigint) => number === witness.base.number || number === witness.base.number - 1n
  const hashes = [...witness.blockHashes.keys()]
    .filter((number) => !inHeader(number))
    .map((number): StateRead => ({ kind: 'blockHash', number }))
  // Further runs and queried contracts touch more than what is counted and charged.
  const isUsed = (read: StateRead) =>
    inspection !== undefined &&
    (read.kind === 'balance' ? FIELDS.some((kind) => used.has(readKey({ ...read, kind }))) : used.has(readKey(read)))
  return [
    ...reads.filter((read) => !needed.has(read) && !isUsed(read)),
    ...hashes.filter((read) => !used.has(readKey(read))),
  ]
}

function valueIn({ accounts, blockHashes }: DecodedWitness, read: StateRead): StateValue | undefined {
  if (read.kind === 'blockHash') return blockHashes.get(read.number)
  const account = accounts.get(read.address)
  return read.kind === 'storage' ? account?.storage.get(read.slot) : account?.[read.kind]
}

function emptyValue({ kind }: StateRead): StateValue {
  return kind === 'code' ? '0x' : kind === 'balance' || kind === 'nonce' ? 0n : ZERO_HASH
}

/** A value that a seller can't predict. */
function randomValue({ kind }: StateRead): StateValue {
  if (kind === 'code') return `0xfe${randomBytes(8).toString('hex')}`
  if (kind === 'nonce') return BigInt(randomInt(1, 2 ** 40))
  if (kind === 'balance') return BigInt(`0x1${randomBytes(12).toString('hex')}`)
  return `0x${randomBytes(32).toString('hex')}`
}

/** Names a value, such as `slot 0x… of 0x…`. */
export function describe(read: StateRead): string {
  if (read.kind === 'blockHash') return `the hash of block ${read.number}`
  return read.kind === 'storage' ? `slot ${read.slot} of ${read.address}` : `${read.kind} of ${read.address}`
}

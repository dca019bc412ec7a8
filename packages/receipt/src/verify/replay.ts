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
  type TouchedList,
} from '@upfront/simulation'
import { jsonHash } from '../json-hash.js'
import { neededReads } from '../witness/needed-reads.js'
import { ReadingDriver } from '../witness/reading-driver.js'
import type { DecodedWitness } from '../witness/witness.js'

/** What a simulation comes to on its witness. */
export interface Replayed {
  blocks: InspectedBlock[]
  /** Of the runs that an inspection takes beside the first. */
  furtherGas: string
  touched: TouchedList
  /** Values that the witness has and should not: see `neededReads`. */
  unneeded: StateRead[]
}

const FIELDS = ['balance', 'nonce', 'code'] as const

const TIMEOUT_MS = 300_000

/** What is executed again. */
export interface Replay {
  /** Of `eth_simulateV1`. */
  params: unknown
  dialect: Dialect
  /** Asked for beside the outcome. */
  inspection?: Inspection
}

/**
 * Executes a request again on a witness alone.
 *
 * Engines look at values that don't matter (an access list's slots before they are used, the balance of a precompile), each at
 * others. So what the witness lacks is assumed: zero at first, then something at random. Where the outcome is the same, it did
 * not matter.
 * @throws or rejects with Error where the request is refused, or the outcome depends on a value that the witness lacks
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
  const { json, furtherGas = 0n, touchedList } = await inspect(simulation, inspection)
  return { blocks: JSON.parse(json.toString()), furtherGas: furtherGas.toString(), touched: touchedList! }
}

/** @param used keys of what execution read */
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
  // The base's own hash and its parent's stand in its header: some engines take them from there, others read them.
  const inHeader = (number: bigint) => number === witness.base.number || number === witness.base.number - 1n
  const hashes = [...witness.blockHashes.keys()]
    .filter((number) => !inHeader(number))
    .map((number): StateRead => ({ kind: 'blockHash', number }))
  // Further runs, and contracts that are asked, touch more than is charged for by its number.
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

/** Nothing that a seller could foresee. */
function randomValue({ kind }: StateRead): StateValue {
  if (kind === 'code') return `0xfe${randomBytes(8).toString('hex')}`
  if (kind === 'nonce') return BigInt(randomInt(1, 2 ** 40))
  if (kind === 'balance') return BigInt(`0x1${randomBytes(12).toString('hex')}`)
  return `0x${randomBytes(32).toString('hex')}`
}

/** Such as `slot 0x… of 0x…`. */
export function describe(read: StateRead): string {
  if (read.kind === 'blockHash') return `the hash of block ${read.number}`
  return read.kind === 'storage' ? `slot ${read.slot} of ${read.address}` : `${read.kind} of ${read.address}`
}

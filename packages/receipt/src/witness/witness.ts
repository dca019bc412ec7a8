import {
  type Address,
  type BlockHeader,
  blockHeaderFromRpc,
  blockHeaderToRpc,
  decodeList,
  decodeObject,
  decodeText,
  type Hash,
  type Hex,
  type Parts,
  type RpcHeader,
  refuseUnknownFields,
  type SimulationLimits,
  toQuantity,
} from '@upfront/protocol'
import type { ChainRules, Simulation, TouchedList } from '@upfront/simulation'
import { jsonHash } from '../json-hash.js'
import { bigintsFromJson, bigintsToJson } from './bigint-json.js'
import { decodeChainRules } from './decode-chain-rules.js'
import type { RecordedReads } from './record-reads.js'

/** Everything needed to execute a simulation again without a node, as JSON. */
export interface Witness {
  /** The chain's rules (`ChainRules`), with bigints as `"12n"`. */
  rules: unknown
  /** The seller's limits for a simulation (`SimulationLimits`). */
  limits: unknown
  /** Parent of the first simulated block. */
  base: RpcHeader
  /** Environment of the block under construction, if the state is of one. */
  opening?: unknown
  /** See `SimulationPlan`. */
  daFootprintScalar?: string
  /** All accounts that were read. */
  accounts: Record<Address, WitnessAccount>
  /** Touched state, as counted in `usage`. */
  touched: WitnessTouched
  /** Block hashes that were read, by number. */
  blockHashes: Record<string, Hash>
  /** Headers that prove these hashes, from the parent of `base` down. */
  ancestors: RpcHeader[]
  /** Nodes of the state trie that prove `accounts` under the state root of `base`. */
  nodes: Hex[]
  /** Why nothing is proven. */
  unproven?: string
}

export interface WitnessAccount {
  balance: Hex
  nonce: Hex
  code: Hex
  /** Slots that were read. */
  storage: Record<Hash, Hash>
}

/** A `TouchedList` with slots grouped by account, in ascending order. */
export interface WitnessTouched {
  accounts: Address[]
  slots: Record<Address, Hash[]>
}

/** A decoded witness. */
export interface DecodedWitness
  extends Pick<Simulation, 'rules' | 'base' | 'opening' | 'daFootprintScalar' | 'limits'> {
  accounts: ReadonlyMap<Address, DecodedAccount>
  touched: WitnessTouched
  blockHashes: ReadonlyMap<bigint, Hash>
  ancestors: BlockHeader[]
  nodes: Hex[]
  unproven: string | undefined
}

export interface DecodedAccount {
  balance: bigint
  nonce: bigint
  code: Hex
  storage: ReadonlyMap<Hash, Hash>
}

/** A trie node is about 1 kB of JSON. */
const NODES_PER_PART = 512

const ADDRESS = /^0x[0-9a-f]{40}$/
const WORD = /^0x[0-9a-f]{64}$/
const BYTES = /^0x(?:[0-9a-f]{2})*$/
const QUANTITY = /^0x(?:0|[1-9a-f][0-9a-f]{0,63})$/

export type Proofs = Pick<Witness, 'ancestors' | 'nodes' | 'unproven'>

/** Builds the witness of a simulation from the recorded reads. */
export function witnessOf(
  { rules: { caveats: _, ...rules }, base, opening, daFootprintScalar, limits }: Simulation,
  { values, touched }: Omit<RecordedReads, 'answer'>,
  proofs: Proofs,
): Witness {
  const { blocks, callsPerBlock, totalCalls, gas, answerBytes } = limits
  const accounts: Witness['accounts'] = {}
  const blockHashes: Witness['blockHashes'] = {}
  for (const [read, value] of values) {
    if (read.kind === 'blockHash') {
      blockHashes[read.number.toString()] = value as Hash
      continue
    }
    accounts[read.address] ??= { balance: '0x0', nonce: '0x0', code: '0x', storage: {} }
    const account = accounts[read.address]!
    if (read.kind === 'storage') account.storage[read.slot] = value as Hash
    else if (read.kind === 'code') account.code = value as Hex
    else account[read.kind] = toQuantity(value as bigint)
  }
  return {
    rules: bigintsToJson(rules),
    limits: bigintsToJson({ blocks, callsPerBlock, totalCalls, gas, answerBytes }),
    base: blockHeaderToRpc(base),
    ...(opening !== undefined && { opening: bigintsToJson(opening) }),
    ...(daFootprintScalar !== undefined && { daFootprintScalar: daFootprintScalar.toString() }),
    accounts,
    touched: witnessTouched(touched),
    blockHashes,
    ...proofs,
  }
}

/** The JSON of a witness in parts; it may be megabytes. */
export function* witnessJson({ nodes, ...rest }: Witness): Parts<Buffer> {
  const pieces = [JSON.stringify(rest).slice(0, -1), ',"nodes":[']
  for (let start = 0; start < nodes.length; start += NODES_PER_PART) {
    if (start > 0) {
      yield
      pieces.push(',')
    }
    pieces.push(JSON.stringify(nodes.slice(start, start + NODES_PER_PART)).slice(1, -1))
  }
  return Buffer.from(`${pieces.join('')}]}`)
}

export function witnessTouched({ accounts, slots }: TouchedList): WitnessTouched {
  const byAccount: WitnessTouched['slots'] = {}
  for (const { address, slot } of slots) {
    byAccount[address] ??= []
    byAccount[address].push(slot)
  }
  return { accounts, slots: byAccount }
}

/** @throws Error that names the field */
export function decodeWitness(value: unknown, field = 'witness'): DecodedWitness {
  const { rules, limits, base, opening, daFootprintScalar, ...proven } = decodeObject(value, field)
  const { accounts, touched, blockHashes, ancestors, nodes, unproven, ...others } = proven
  refuseUnknownFields(others, field, [])
  return {
    rules: decodeChainRules(bigintsFromJson(rules), `${field}.rules`) as ChainRules,
    limits: decodeLimits(limits, `${field}.limits`),
    base: decodeHeader(base, `${field}.base`),
    opening:
      opening === undefined
        ? undefined
        : (bigintsFromJson(decodeObject(opening, `${field}.opening`)) as NonNullable<Simulation['opening']>),
    daFootprintScalar:
      daFootprintScalar === undefined
        ? undefined
        : BigInt(decodeText(daFootprintScalar, /^\d{1,5}$/, `${field}.daFootprintScalar`)),
    accounts: decodeMap(accounts, ADDRESS, `${field}.accounts`, decodeAccount) as Map<Address, DecodedAccount>,
    touched: decodeTouched(touched, `${field}.touched`),
    blockHashes: new Map(
      [...decodeMap(blockHashes, /^\d{1,20}$/, `${field}.blockHashes`, decodeWord)].map(([number, hash]) => [
        BigInt(number),
        hash,
      ]),
    ),
    ancestors: decodeList(ancestors, `${field}.ancestors`).map((header, index) =>
      decodeHeader(header, `${field}.ancestors[${index}]`),
    ),
    nodes: decodeList(nodes, `${field}.nodes`).map(
      (node, index) => decodeText(node, BYTES, `${field}.nodes[${index}]`) as Hex,
    ),
    unproven: unproven === undefined ? undefined : decodeText(unproven, /^.{1,300}$/, `${field}.unproven`),
  }
}

const COUNTS = ['blocks', 'callsPerBlock', 'totalCalls', 'answerBytes']

function decodeAccount(value: unknown, field: string): DecodedAccount {
  const { balance, nonce, code, storage, ...others } = decodeObject(value, field)
  refuseUnknownFields(others, field, [])
  return {
    balance: BigInt(decodeText(balance, QUANTITY, `${field}.balance`)),
    nonce: BigInt(decodeText(nonce, QUANTITY, `${field}.nonce`)),
    code: decodeText(code, BYTES, `${field}.code`) as Hex,
    storage: decodeMap(storage, WORD, `${field}.storage`, decodeWord) as Map<Hash, Hash>,
  }
}

function decodeTouched(value: unknown, field: string): WitnessTouched {
  const { accounts, slots, ...others } = decodeObject(value, field)
  refuseUnknownFields(others, field, [])
  const listOf = (list: unknown, pattern: RegExp, at: string) =>
    decodeList(list, at).map((item, index) => decodeText(item, pattern, `${at}[${index}]`))
  return {
    accounts: listOf(accounts, ADDRESS, `${field}.accounts`) as Address[],
    slots: Object.fromEntries(
      decodeMap(slots, ADDRESS, `${field}.slots`, (list, at) => listOf(list, WORD, at) as Hash[]),
    ),
  }
}

function decodeWord(value: unknown, field: string): Hash {
  return decodeText(value, WORD, field) as Hash
}

function decodeMap<T>(
  value: unknown,
  key: RegExp,
  field: string,
  decode: (value: unknown, field: string) => T,
): Map<string, T> {
  const map = new Map<string, T>()
  for (const [name, entry] of Object.entries(decodeObject(value, field)))
    map.set(decodeText(name, key, `${field}: a name`), decode(entry, `${field}.${name}`))
  return map
}

function decodeHeader(value: unknown, field: string): BlockHeader {
  let header: BlockHeader
  try {
    header = blockHeaderFromRpc(value)
  } catch (error) {
    throw new Error(`${field}: ${(error as Error).message}`)
  }
  // Headers have a single encoding: otherwise a buyer would pay for bytes that the hash does not cover.
  if (jsonHash(blockHeaderToRpc(header)) !== jsonHash(value)) throw new Error(`${field}: has more than its hash covers`)
  return header
}

function decodeLimits(value: unknown, field: string): SimulationLimits {
  const limits = decodeObject(bigintsFromJson(decodeObject(value, field)), field)
  refuseUnknownFields(limits, field, [...COUNTS, 'gas'])
  for (const name of COUNTS)
    if (!Number.isSafeInteger(limits[name]) || (limits[name] as number) < 1)
      throw new Error(`${field}.${name}: expected a whole number`)
  if (typeof limits.gas !== 'bigint' || limits.gas < 0n) throw new Error(`${field}.gas: expected a whole number`)
  return limits as unknown as SimulationLimits
}

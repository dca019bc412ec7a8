import type { Address, Hash, Hex } from '@upfront/protocol'
import { type CallRecord, type Frame, hasFailed } from '../engine/call-record.js'
import { haltMessage } from '../present/halt-message.js'
import { SELECTORS } from './entry-point.js'
import type { OperationFrames } from './operation-frames.js'

/** The entity responsible for a part of the validation. */
export type Entity = 'factory' | 'account' | 'paymaster'

/** An ERC-7562 rule that a validation breaks. Bundlers drop such an operation. */
export interface BrokenRule {
  /** Such as `OP-011`, see https://eips.ethereum.org/EIPS/eip-7562 */
  rule: string
  entity: Entity
  /** The contract whose code breaks it; for a storage rule, the one whose storage is accessed. */
  contract: Address
  /** The offending opcode, slot, address or selector, or a description. */
  what: string
}

/** Facts about the chain that the rules depend on. */
export interface RuleFacts {
  entryPoint: Address
  sender: Address
  factory?: Address
  paymaster?: Address
  /** Entities with a stake at the EntryPoint, locked for at least a day. The minimum stake is each bundler's own setting. */
  staked: ReadonlySet<Address>
  /** Whether the account was deployed before the operation. */
  accountExisted: boolean
  keccak256(bytes: Hex): Hash
}

const BANNED = new Map<number, string>([
  ...([
    [0x32, 'ORIGIN'],
    [0x3a, 'GASPRICE'],
    [0x40, 'BLOCKHASH'],
    [0x41, 'COINBASE'],
    [0x42, 'TIMESTAMP'],
  ] as const),
  ...([
    [0x43, 'NUMBER'],
    [0x44, 'PREVRANDAO'],
    [0x45, 'GASLIMIT'],
    [0x48, 'BASEFEE'],
    [0x49, 'BLOBHASH'],
  ] as const),
  ...([
    [0x4a, 'BLOBBASEFEE'],
    [0xfe, 'INVALID'],
    [0xff, 'SELFDESTRUCT'],
  ] as const),
])
const GAS = 0x5a
const CREATE = 0xf0
const CREATE2 = 0xf5
/** Allowed for staked entities only. */
const BALANCES = new Map([
  [0x31, 'BALANCE'],
  [0x47, 'SELFBALANCE'],
])
/** Precompiles 0x01 to 0x09, and RIP-7212's at 0x100. */
const isCorePrecompile = (address: Address) => BigInt(address) <= 9n || BigInt(address) === 0x100n
/** Slots after a mapping entry's hash that count as associated storage. */
const ASSOCIATED = 128n

/** The rules that an operation's validation breaks, in order, each once per entity, contract and `what`. */
export function brokenRules(found: OperationFrames, record: CallRecord, facts: RuleFacts): BrokenRule[] {
  const broken = new Map<string, BrokenRule>()
  const associations = new Associations(record.preimages, facts.keccak256)
  const judge = (entity: Entity, address: Address | undefined, frames: readonly Frame[] = []) => {
    if (address === undefined) return
    const report = (rule: string, contract: Address, what: string) => {
      const key = `${rule} ${entity} ${contract} ${what}`
      if (!broken.has(key)) broken.set(key, { rule, entity, contract, what })
    }
    judgeFrames(entity, address, frames, associations, facts, report)
  }
  // The SenderCreator's own frame belongs to the EntryPoint.
  judge('factory', facts.factory, found.creation?.slice(1))
  judge('account', facts.sender, found.account)
  judge('paymaster', facts.paymaster, found.paymaster)
  const [validated] = found.paymaster ?? []
  if (facts.paymaster !== undefined && validated !== undefined && !facts.staked.has(facts.paymaster))
    if (!hasFailed(validated) && contextLength(validated.output) > 0n)
      broken.set('context', {
        ...{ rule: 'EREP-050', entity: 'paymaster', contract: facts.paymaster },
        what: 'returns a context without a stake',
      })
  return [...broken.values()]
}

type Report = (rule: string, contract: Address, what: string) => void

function judgeFrames(
  entity: Entity,
  address: Address,
  frames: readonly Frame[],
  associations: Associations,
  facts: RuleFacts,
  report: Report,
): void {
  const isStaked = facts.staked.has(address)
  let creations = 0
  /** Frames below a call to the EntryPoint are the EntryPoint's own. */
  let ofEntryPoint = Number.POSITIVE_INFINITY
  for (const frame of frames) {
    const { depth, from, to = from, kind, value = 0n, uses } = frame
    if (depth > ofEntryPoint) continue
    ofEntryPoint = Number.POSITIVE_INFINITY
    const isFirst = frame === frames[0]
    if (!isFirst) judgeCall(frame, facts, report)
    if (to === facts.entryPoint) {
      ofEntryPoint = depth
      continue
    }
    if (frame.isPrecompile || uses === undefined) continue
    for (const [opcode, count] of uses.opcodes) {
      const name = BANNED.get(opcode)
      if (name !== undefined) report('OP-011', to, name)
      else if (opcode === GAS) report('OP-012', to, 'GAS')
      else if (opcode === CREATE && !(entity === 'account' && facts.factory !== undefined))
        report('OP-011', to, 'CREATE')
      else if (opcode === CREATE2) {
        creations += count
        if (entity !== 'factory' || creations > 1) report('OP-031', to, 'CREATE2')
      } else if (BALANCES.has(opcode) && !isStaked) report('OP-080', to, BALANCES.get(opcode)!)
    }
    if (frame.halt !== undefined && /out of gas/.test(haltMessage(frame.halt))) report('OP-020', to, 'runs out of gas')
    for (const named of uses.named)
      if (named.codeSize === 0 && named.address !== facts.sender && !isCorePrecompile(named.address))
        report('OP-041', to, named.address)
    const home = kind === 'DELEGATECALL' || kind === 'CALLCODE' ? from : to
    const written = new Set([...uses.writes, ...uses.transientWrites].map(([slot]) => slot))
    const slots = new Set([
      ...uses.reads.map(([slot]) => slot),
      ...uses.transientReads.map(([slot]) => slot),
      ...written,
    ])
    for (const slot of slots) {
      const rule = storageRule(entity, address, home, slot, written.has(slot), isStaked, associations, facts)
      if (rule !== undefined) report(rule, home, slot)
    }
    if (value > 0n && kind === 'CALL' && !isFirst) report('OP-061', from, to)
  }
}

function judgeCall({ from, to = from, input, isPrecompile }: Frame, facts: RuleFacts, report: Report): void {
  if (isPrecompile && !isCorePrecompile(to)) report('OP-062', from, to)
  if (to !== facts.entryPoint) return
  if (input !== '0x' && !input.startsWith(SELECTORS.depositTo)) report('OP-054', from, input.slice(0, 10))
}

/** @returns the rule that an access to this slot breaks */
function storageRule(
  entity: Entity,
  address: Address,
  home: Address,
  slot: Hash,
  isWritten: boolean,
  isStaked: boolean,
  associations: Associations,
  { sender, factory, paymaster, accountExisted, staked }: RuleFacts,
): string | undefined {
  if (home === sender) return undefined
  if (associations.has(sender, slot)) {
    const isOfEntity = home === factory || home === paymaster
    if (accountExisted && !isOfEntity) return undefined
    if (!accountExisted && factory !== undefined && staked.has(factory)) return undefined
    if (isOfEntity && home === address && isStaked) return undefined
    return accountExisted ? 'STO-021' : 'STO-022'
  }
  if (isStaked) {
    if (home === address || associations.has(address, slot) || !isWritten) return undefined
    return 'STO-033'
  }
  return home === address && entity !== 'account' ? 'STO-031' : associations.has(address, slot) ? 'STO-032' : 'STO-033'
}

/** Associated storage (ERC-7562): slot A itself, and slots keccak256(A || x) + n with n up to 128. */
class Associations {
  readonly #preimages: readonly Hex[]
  readonly #keccak256: RuleFacts['keccak256']
  readonly #hashes = new Map<Address, bigint[]>()

  constructor(preimages: readonly Hex[], keccak256: RuleFacts['keccak256']) {
    this.#preimages = preimages
    this.#keccak256 = keccak256
  }

  has(address: Address, slot: Hash): boolean {
    const at = BigInt(slot)
    if (at === BigInt(address)) return true
    const hashes = this.#of(address)
    // Binary search for the greatest hash that is not above the slot.
    let [from, to] = [-1, hashes.length]
    while (to - from > 1) {
      const middle = (from + to) >> 1
      if (hashes[middle]! <= at) from = middle
      else to = middle
    }
    return from >= 0 && at - hashes[from]! <= ASSOCIATED
  }

  /** Hashes of preimages that begin with the address, in ascending order. */
  #of(address: Address): bigint[] {
    const known = this.#hashes.get(address)
    if (known !== undefined) return known
    const begins = `0x${address.slice(2).padStart(64, '0')}`
    const hashes = this.#preimages
      .filter((preimage) => preimage.startsWith(begins) && preimage.length > begins.length)
      .map((preimage) => this.#keccak256(preimage))
      .sort()
      .map(BigInt)
    this.#hashes.set(address, hashes)
    return hashes
  }
}

/** Length of the `context` that `validatePaymasterUserOp` returned. */
function contextLength(output: Hex): bigint {
  const offset = Number(BigInt(`0x${output.slice(2, 66) || '0'}`))
  const from = 2 + offset * 2
  return output.length < from + 64 ? 0n : BigInt(`0x${output.slice(from, from + 64)}`)
}

import type { Awaitable } from '@upfront/node'
import { type Address, type BlockStateCall, type Call, type SimulatedBlock, ZERO_ADDRESS } from '@upfront/protocol'
import { mergeOverrides } from '../accounts/merge-overrides.js'
import { type CallRecord, type DecidingFact, type FactKind, REACHED } from '../engine/call-record.js'
import { type Circumstances, isDeciding, SECONDS_LATER } from '../outcome/circumstances.js'
import { layerChanges } from '../outcome/shown-dependencies.js'
import { isHistoryContract } from '../outcome/verdict.js'
import { rulesAt } from '../plan/rules-at.js'
import type { AfterWaiting } from './after-waiting.js'
import type { Comparison } from './comparison.js'
import type { RecentPosition, Simulation, SimulationAnswer } from './simulate.js'

/** Circumstances, and how to simulate under them. */
export interface Condition extends Circumstances {
  /** The simulation under them; undefined if that state is unavailable. */
  apply(simulation: Simulation): Awaitable<Simulation | undefined>
}

/** A builder's address that proposes blocks on Ethereum. */
const FEE_RECIPIENT: Address = '0x4838b106fce9647bdf1e7877bf73ce8b0bad5f97'
const OTHER_FEE_RECIPIENT: Address = '0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5'
const GWEI = 1_000_000_000n
const SECONDS = BigInt(SECONDS_LATER)
const BLOCKS = 2n
/** EIP-7825's gas limit of a transaction. */
const MAX_GAS = 1n << 24n
const MIN_GAS = 500_000n
const HIGH_PRICE = 100n * GWEI

/** A simulated request with its result. */
export interface Simulated {
  simulation: Simulation
  blocks: SimulationAnswer['blocks']
  /** The result's blocks. */
  parsed: () => readonly SimulatedBlock[]
  /** Records of all calls, in order. */
  records: readonly CallRecord[]
  /** Compares changed simulations with this one. */
  compare: Comparison
  /** The verdict must be reproducible with the state of a single block: conditions on other blocks are left out. */
  isForAll: boolean
  /** The outcome after waiting transactions. */
  afterWaiting: readonly AfterWaiting[]
  /** Descriptions of conditions that could not be tried. */
  leftOut: readonly string[]
}

/** A witness would have to prove the state at each of those places: everything that the preceding transactions read. */
const UNPROVEN = 'positions in the last blocks: the witness of a paid answer proves the state of one block only'

/**
 * The conditions that can affect any of the calls, chosen by the facts that decide.
 * @returns those for one joint run, those to try separately, other places on the chain (nearest first), and descriptions of those left out
 */
export function conditionsFor({
  simulation,
  blocks,
  parsed,
  records,
  isForAll,
}: Simulated): Record<'together' | 'apart' | 'elsewhere', Condition[]> & { leftOut: string[] } {
  const facts = records.flatMap(({ dependencies }) => dependencies?.facts ?? []).filter(isDeciding)
  const countsBlocks = simulation.base.slotNumber !== undefined || facts.some(dependsOnNumber)
  const wanted = (condition: Condition) => facts.some((fact) => condition.changesFact(fact))
  const together = [...surroundings(simulation), minuteLater(blocks, countsBlocks), withoutCode(simulation)].filter(
    wanted,
  )
  const isKnown =
    together.every(({ under }) => under === LATER) && !countsBlocks && hasSameOutcomeLater(simulation, blocks, records)
  return {
    together: isKnown ? [] : together,
    apart: [highPrice(), ...gasConditions(simulation, parsed)].filter(wanted),
    elsewhere: isForAll ? [] : [...withoutLayers(simulation), ...recentPlaceConditions(simulation)].filter(wanted),
    leftOut: isForAll && facts.some(({ address }) => address !== undefined) ? [UNPROVEN] : [],
  }
}

/** The conditions to try one by one after a joint run differed. The later time is preceded by one block later. */
export function separateConditions(conditions: readonly Condition[], { blocks }: Simulated): Condition[] {
  return conditions.flatMap((condition) => (condition.under === LATER ? [blockLater(blocks), condition] : [condition]))
}

/** Several conditions as one, used if none of them makes the difference alone. */
export function joinConditions(conditions: readonly Condition[]): Circumstances {
  return {
    under: conditions.map(({ under }) => under).join(', '),
    category: conditions.every(({ category }) => category === 'course') ? 'course' : 'surroundings',
    changesFact: (fact) => conditions.some((condition) => condition.changesFact(fact)),
  }
}

function surroundings({ base, request }: Simulation): Condition[] {
  const baseFee = ((base.baseFeePerGas || GWEI) * 9n) / 8n
  const raised = ({ baseFeePerGas, ...block }: BlockStateCall['blockOverrides']) => ({
    ...block,
    baseFeePerGas: baseFeePerGas ? (baseFeePerGas * 9n) / 8n : baseFee,
  })
  return [
    {
      ...overrideBlocks('another fee recipient', 'coinbase', (block) => {
        const held = block.feeRecipient ?? base.miner
        return { ...block, feeRecipient: held === FEE_RECIPIENT ? OTHER_FEE_RECIPIENT : FEE_RECIPIENT }
      }),
      // The fee recipient is warm (EIP-3651): code that measures gas can recognize it without COINBASE.
      changesFact: ({ kind, reached }) => kind === 'coinbase' || (kind === 'gasLeft' && (reached & REVEALING) !== 0),
    },
    overrideBlocks('another prevRandao', 'prevRandao', (block) => ({
      ...block,
      prevRandao: block.prevRandao === base.hash ? base.parentHash : base.hash,
    })),
    overrideBlocks('another block gas limit', 'gasLimit', (block) => {
      const held = block.gasLimit ?? base.gasLimit
      return { ...block, gasLimit: held - held / 1_024n }
    }),
    overrideBlocks('a higher blob base fee', 'blobBaseFee', (block) => ({
      ...block,
      blobBaseFee: (block.blobBaseFee ?? 1n) * 2n,
    })),
    // Not for validated calls: they pay the base fee and may not afford a higher one.
    ...(request.validation ? [] : [overrideBlocks('the base fee of a block', 'baseFee', raised)]),
    {
      under: 'the gas price of a transaction',
      category: 'surroundings',
      changesFact: ({ kind }) => kind === 'gasPrice',
      apply: (simulation) =>
        withCalls(simulation, (call, block) => {
          const price = call.gasPrice ?? call.maxFeePerGas
          const asked = block.blockOverrides.baseFeePerGas ?? 0n
          const least = asked > baseFee ? asked : baseFee
          return { ...call, shownGasPrice: price ? (price * 9n) / 8n : least + GWEI }
        }),
    },
  ]
}

function overrideBlocks(
  under: string,
  kind: FactKind,
  change: (block: BlockStateCall['blockOverrides']) => BlockStateCall['blockOverrides'],
): Condition {
  return {
    under,
    category: 'surroundings',
    changesFact: (fact) => fact.kind === kind,
    apply: (simulation) => withBlocks(simulation, (blockOverrides) => change(blockOverrides)),
  }
}

/** A gas price that reaches only a recipient, an amount or a call's gas changes no behaviour. */
const REVEALING = ~(REACHED.recipient | REACHED.amount | REACHED.allowance)

function highPrice(): Condition {
  return {
    under: 'a gas price of 100 gwei',
    category: 'gas',
    changesFact: ({ kind, reached }) => kind === 'gasPrice' && (reached & REVEALING) !== 0,
    apply: (simulation) => withCalls(simulation, (call) => ({ ...call, shownGasPrice: HIGH_PRICE })),
  }
}

const LATER = `${SECONDS} s and ${BLOCKS} blocks later`

/** Whether the fact changes with the block number. BLOCKHASH and history contracts are included. */
function dependsOnNumber({ kind, address }: DecidingFact): boolean {
  return ['number', 'blockHash', 'baseFee', 'blobBaseFee'].includes(kind) || isHistoryContract(address)
}

/** Whether the engine already found that the request's single call has the same outcome a minute later. */
function hasSameOutcomeLater(
  { rules }: Simulation,
  blocks: Simulated['blocks'],
  records: Simulated['records'],
): boolean {
  if (records.length !== 1 || blocks.length !== 1 || records[0]!.dependencies?.isSameLater !== true) return false
  const { number, timestamp } = blocks[0]!
  return (
    rulesAt(rules, number, timestamp) === rulesAt(rules, number, timestamp + SECONDS) &&
    (rules.unsupportedFrom === undefined || timestamp + SECONDS < rules.unsupportedFrom.timestamp)
  )
}

/** @param countsBlocks whether the outcome depends on the number; if not, no blocks are executed in between */
function minuteLater(blocks: Simulated['blocks'], countsBlocks: boolean): Condition {
  return shiftTime(LATER, blocks, countsBlocks ? BLOCKS : 0n, SECONDS)
}

/** One block later, at the time that the chain's schedule gives it. */
function blockLater(blocks: Simulated['blocks']): Condition {
  return shiftTime('one block later', blocks, 1n)
}

function shiftTime(under: string, blocks: Simulated['blocks'], number: bigint, seconds?: bigint): Condition {
  return {
    under,
    category: 'course',
    changesFact: ({ kind }) => kind === 'time' || kind === 'number',
    apply: (simulation) => {
      const numbers = numbersOf(simulation)
      const times = new Map(blocks.map((block) => [block.number, block.timestamp]))
      return withBlocks(simulation, (block, index) => {
        const timed = { ...block, number: numbers[index]! + number }
        const time = times.get(numbers[index]!)
        if (seconds !== undefined && time !== undefined) timed.timestamp = time + seconds
        return timed
      })
    },
  }
}

function withoutCode({ request }: Simulation): Condition {
  const senders = new Set(request.blockStateCalls.flatMap(({ calls }) => calls.map(({ from = ZERO_ADDRESS }) => from)))
  return {
    under: 'a signer without code',
    category: 'course',
    changesFact: ({ kind, address, value }) =>
      kind === 'code' && value !== 0n && address !== undefined && senders.has(address),
    apply: (simulation) => {
      const [first, ...rest] = simulation.request.blockStateCalls
      if (first === undefined) return simulation
      const codes = Array.from(senders, (address) => ({ address, code: '0x' as const }))
      return withRequest(simulation, [
        { ...first, stateOverrides: mergeOverrides(first.stateOverrides, codes) },
        ...rest,
      ])
    },
  }
}

/** Gas limits: a wallet's, if the request names none or one above EIP-7825's, else twice the gas; and little more than the calls used. */
function gasConditions({ request }: Simulation, parsed: Simulated['parsed']): Condition[] {
  const calls = request.blockStateCalls.flatMap((block) => block.calls)
  const changesFact = ({ kind }: DecidingFact) => kind === 'gasLeft'
  const isCapped = calls.some(({ gas }) => gas === undefined || gas > MAX_GAS)
  const condition = (
    under: string,
    category: Condition['category'],
    limit: (gas: bigint, used: bigint) => bigint,
  ): Condition => ({
    under,
    category,
    changesFact,
    apply: (simulation) => {
      const used = parsed().flatMap((block) => block.calls.map(({ maxUsedGas }) => BigInt(maxUsedGas)))
      let next = 0
      return withCalls(simulation, (call) => {
        const at = next++
        return { ...call, gas: limit(call.gas ?? simulation.limits.gas, used[at] ?? 0n) }
      })
    },
  })
  const walletLimit = (limit: bigint, used: bigint) => {
    if (limit <= MAX_GAS) return limit
    const ample = used * 8n > MIN_GAS ? used * 8n : MIN_GAS
    return ample < MAX_GAS ? ample : used > MAX_GAS ? limit : MAX_GAS
  }
  return [
    isCapped
      ? condition('a gas limit of a transaction', 'surroundings', walletLimit)
      : condition('twice the gas', 'course', (limit) => limit * 2n),
    condition('little more gas than it used', 'gas', (limit, used) => {
      const little = (used * 6n) / 5n + 50_000n
      if (little < limit) return little
      // A call that uses nearly all of its gas may do so because it is there: it gets a transaction's maximum, or else an eighth less.
      return limit > MAX_GAS ? MAX_GAS : limit - limit / 8n
    }),
  ]
}

/** The state before the block under construction. */
function withoutLayers({ state: { layers } }: Simulation): Condition[] {
  if (layers.length === 0) return []
  return [
    {
      under: 'a place before what the block under construction holds',
      category: 'course',
      changesFact: (fact) => layers.some((layer) => layerChanges(layer, fact)),
      apply: (simulation) => ({ ...simulation, state: { ...simulation.state, layers: [] } }),
    },
  ]
}

const PLACES: Record<string, RecentPosition> = {
  'a place in the middle of the last block': { back: 0, isMiddle: true },
  'a place before the last block': { back: 0, isMiddle: false },
  'a place in the middle of the block before the last': { back: 1, isMiddle: true },
  'a place in the middle of the third last block': { back: 2, isMiddle: true },
}

/** Places in the newest sealed blocks, for facts that any of the last carried blocks changed. */
function recentPlaceConditions({ findRecentBase: find }: Simulation): Condition[] {
  if (find === undefined) return []
  return Object.entries(PLACES).map(([under, place]) => ({
    under,
    category: 'course',
    changesFact: ({ changed }) => changed > 0,
    apply: async (simulation) => {
      const earlier = await find(place)
      return earlier && { ...simulation, ...earlier }
    },
  }))
}

/** The number of each of the request's blocks. */
function numbersOf({ request, base }: Simulation): bigint[] {
  let number = base.number
  return request.blockStateCalls.map(({ blockOverrides }) => {
    number = blockOverrides.number ?? number + 1n
    return number
  })
}

function withBlocks(
  simulation: Simulation,
  change: (overrides: BlockStateCall['blockOverrides'], index: number) => BlockStateCall['blockOverrides'],
): Simulation {
  const blocks = simulation.request.blockStateCalls
  return withRequest(
    simulation,
    blocks.map((block, index) => ({ ...block, blockOverrides: change(block.blockOverrides, index) })),
  )
}

function withCalls(simulation: Simulation, change: (call: Call, block: BlockStateCall) => Call): Simulation {
  const blocks = simulation.request.blockStateCalls
  return withRequest(
    simulation,
    blocks.map((block) => ({ ...block, calls: block.calls.map((call) => change(call, block)) })),
  )
}

function withRequest(simulation: Simulation, blockStateCalls: BlockStateCall[]): Simulation {
  return { ...simulation, request: { ...simulation.request, blockStateCalls } }
}

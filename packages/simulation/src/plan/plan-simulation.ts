import {
  type BlockHeader,
  type BlockOverrides,
  type BlockStateCall,
  type Call,
  ErrorCode,
  RpcError,
  type SimulationLimits,
  type SimulationRequest,
  type StateOverride,
  ZERO_ADDRESS,
  ZERO_HASH,
} from '@upfront/protocol'
import type { OpeningBlock } from '../block/pinned-block.js'
import { baseFeeParameters, isOpForkActive } from './base-fee.js'
import { type BlockSchedule, mayShareSecond, nextTime } from './block-schedule.js'
import { type BlockRules, type ChainRules, FORK_RULES } from './chain-rules.js'
import { impliedRules, isOlderThanInferred, rulesOf } from './infer-chain-rules.js'
import { contradictionOf, planCall } from './plan-call.js'
import { NO_RECORDING, type Recording } from './recording.js'
import { isForkActive, rulesAt } from './rules-at.js'
import type { PlannedBlock, SimulationPlan } from './simulation-plan.js'

const MAX_TIMESTAMP = (1n << 64n) - 1n
const EMPTY: BlockStateCall = { calls: [], stateOverrides: [], blockOverrides: {} }

/**
 * Turns the request into blocks on `base`: fills gaps, checks that numbers and times rise (times may be equal only if blocks share a
 * second), and applies geth's defaults as far as they don't depend on running state. Fee recipient and gas limit are inherited from the
 * previous block; prevRandao and the beacon root default to zero.
 * @param opening the block after `base`, if it is under construction
 * @param recording what engines record of each call
 * @throws RpcError with the place: -38020 and -38021 for blocks out of order, -38026 over a limit, -32000 if the rules of a block are
 * unknown or the first call is no transaction (a later one is the plan's `fault`)
 */
export function planSimulation(
  request: SimulationRequest,
  base: BlockHeader,
  rules: ChainRules,
  limits: SimulationLimits,
  opening?: OpeningBlock,
  recording: Recording = NO_RECORDING,
): SimulationPlan {
  const baseRules = rulesOf(base, rules)
  if (base.blockAccessListHash !== undefined && !isForkActive(baseRules.fork, 'amsterdam'))
    throw new RpcError(
      ErrorCode.serverError,
      `block ${base.number} is of fork amsterdam, which the known rules of this chain do not include: set CHAIN_GENESIS_FILE to the chain's genesis file`,
    )
  const blocks: PlannedBlock[] = []
  let parent: Pick<PlannedBlock, 'number' | 'timestamp' | 'gasLimit' | 'feeRecipient'> = {
    number: base.number,
    timestamp: base.timestamp,
    gasLimit: base.gasLimit,
    feeRecipient: base.miner,
  }
  const known = opening && openingAfter(base, opening)
  const context: PlanContext = { request, base, baseRules, rules }
  const follow = ({ stateOverrides, blockOverrides: given }: BlockStateCall, requestIndex?: number) => {
    const opens = known !== undefined && blocks.length === 0
    const overrides = opens ? { ...known, ...given } : given
    // A real block keeps its time: development chains may give two blocks the same.
    const isKnownTime = opens && given.timestamp === undefined && known.timestamp !== undefined
    const before = isKnownTime ? { ...parent, timestamp: parent.timestamp - 1n } : parent
    const block = planBlock(overrides, stateOverrides, requestIndex, before, context)
    blocks.push(block)
    parent = block
  }
  request.blockStateCalls.forEach((block, index) => {
    const number = block.blockOverrides.number ?? parent.number + 1n
    checkNumber(number, parent.number, base.number, limits, index)
    while (parent.number + 1n < number) follow(EMPTY)
    follow(block, index)
  })
  const { validation, traceTransfers, returnFullTransactions } = request
  const { gas: gasBudget, answerBytes } = limits
  const plan: SimulationPlan = {
    rules,
    base,
    baseRules,
    blocks,
    validation,
    traceTransfers,
    gasBudget,
    returnFullTransactions,
    answerBytes,
    recording,
  }
  addCalls(plan, request)
  return plan
}

/** Plans the calls of all blocks. The plan ends with the first invalid call, or before a block with an invalid override. */
function addCalls(plan: SimulationPlan, { blockStateCalls }: SimulationRequest): void {
  for (const [at, block] of plan.blocks.entries()) {
    const index = block.requestIndex
    if (index === undefined) continue
    const twice = block.stateOverrides.find(({ state, stateDiff }) => state !== undefined && stateDiff !== undefined)
    if (twice !== undefined) {
      const message = `${placeOf(index)}.stateOverrides["${twice.address}"]: both \`state\` and \`stateDiff\` are given`
      endPlan(plan, at, { error: new RpcError(ErrorCode.serverError, message), isOfLastCall: false })
      return
    }
    for (const [position, call] of (blockStateCalls[index]?.calls ?? []).entries()) {
      const fault = contradictionOf(call, plan.rules.chainId) ?? (plan.validation ? capFault(call, block) : undefined)
      block.calls.push(planCall(fault === undefined ? call : gasOf(call)))
      if (fault === undefined) continue
      const error = new RpcError(ErrorCode.serverError, `${placeOf(index)}.calls[${position}]: ${fault}`)
      endPlan(plan, at + 1, { error, isOfLastCall: true })
      return
    }
  }
}

/** EIP-7825 for validated calls on OP-stack chains, whose blocks hold no such transaction. geth allows simulated calls more. */
function capFault({ gas = 0n }: Call, { rules }: PlannedBlock): string | undefined {
  const cap = rules.opFork && FORK_RULES[rules.fork].transactionGas
  return cap === undefined || gas <= cap ? undefined : `transaction gas limit too high (cap: ${cap}, tx: ${gas})`
}

/** A contradictory call reduced to its gas: geth checks the block's remaining gas before it reports the contradiction. */
function gasOf({ from, gas }: Call): Call {
  return { to: ZERO_ADDRESS, ...(from !== undefined && { from }), ...(gas !== undefined && { gas }) }
}

/** @throws RpcError the fault itself, if nothing before it can fail */
function endPlan(plan: SimulationPlan, length: number, fault: NonNullable<SimulationPlan['fault']>): void {
  plan.blocks.length = length
  const calls = plan.blocks.flatMap((block) => block.calls)
  const isFirst = calls.length === 0 || (calls.length === 1 && calls[0]?.gas === undefined)
  if (isFirst && plan.blocks.every(({ stateOverrides }) => stateOverrides.length === 0)) throw fault.error
  plan.fault = fault
}

/** Drops the time of a node's block under construction if its clock is behind the head. */
function openingAfter(base: BlockHeader, opening: OpeningBlock): OpeningBlock {
  if (opening.timestamp === undefined || opening.timestamp >= base.timestamp) return opening
  const { timestamp: _behind, ...rest } = opening
  return rest
}

/** Shared by all blocks of a plan. */
export interface PlanContext {
  request: Pick<SimulationRequest, 'validation'>
  base: BlockHeader
  baseRules: BlockRules
  rules: ChainRules
}

export function planBlock(
  blockOverrides: BlockOverrides,
  stateOverrides: StateOverride[],
  requestIndex: number | undefined,
  parent: Pick<PlannedBlock, 'number' | 'timestamp' | 'gasLimit' | 'feeRecipient'>,
  { request, base, baseRules, rules: chain }: PlanContext,
): PlannedBlock {
  const number = parent.number + 1n
  const timestamp = timeOf(blockOverrides, number, parent.timestamp, chain.schedule, requestIndex)
  const rules = knownRules(chain, base, number, timestamp, requestIndex)
  const block: PlannedBlock = {
    number,
    timestamp,
    gasLimit: blockOverrides.gasLimit ?? parent.gasLimit,
    feeRecipient: blockOverrides.feeRecipient ?? parent.feeRecipient,
    prevRandao: blockOverrides.prevRandao ?? ZERO_HASH,
    baseFeeParameters: baseFeeParameters(chain, base, baseRules, rules),
    withdrawals: withdrawalsOf(blockOverrides, rules, requestIndex),
    extraData: '0x',
    rules,
    stateOverrides,
    calls: [],
  }
  if (requestIndex !== undefined) block.requestIndex = requestIndex
  if (isForkActive(rules.fork, 'cancun')) block.parentBeaconBlockRoot = blockOverrides.beaconRoot ?? ZERO_HASH
  if (blockOverrides.blobBaseFee !== undefined) block.blobBaseFee = blockOverrides.blobBaseFee
  const baseFee = blockOverrides.baseFeePerGas ?? (request.validation ? undefined : 0n)
  if (baseFee !== undefined) block.baseFeePerGas = baseFee
  return block
}

/** A plan of this block alone, whose calls are planned already. */
export function planOfBlock(
  block: PlannedBlock,
  { request: { validation }, base, baseRules, rules }: PlanContext,
  { gas: gasBudget, answerBytes }: Pick<SimulationLimits, 'gas' | 'answerBytes'>,
  recording: Recording,
): SimulationPlan {
  return {
    ...{ rules, base, baseRules, validation, gasBudget, answerBytes, recording },
    blocks: [block],
    traceTransfers: false,
    returnFullTransactions: false,
  }
}

function checkNumber(number: bigint, previous: bigint, base: bigint, limits: SimulationLimits, index: number): void {
  const place = `blockStateCalls[${index}].blockOverrides.number`
  if (number <= previous)
    throw new RpcError(
      ErrorCode.blockNumberInvalid,
      `${place}: block numbers must be in order: ${number} <= ${previous}`,
    )
  if (number - base > BigInt(limits.blocks))
    throw new RpcError(
      ErrorCode.clientLimitExceeded,
      `${place}: too many blocks: ${number - base} > ${limits.blocks} after gaps are filled`,
    )
}

function timeOf(
  overrides: BlockOverrides,
  number: bigint,
  previous: bigint,
  schedule: BlockSchedule,
  index: number | undefined,
): bigint {
  const timestamp = overrides.timestamp ?? nextTime(schedule, number, previous)
  const follows = timestamp > previous || (timestamp === previous && mayShareSecond(schedule, timestamp))
  if (!follows)
    throw new RpcError(
      ErrorCode.blockTimestampInvalid,
      `blockStateCalls[${index}].blockOverrides.time: block timestamps must be in order: ${timestamp} <= ${previous}`,
    )
  if (timestamp > MAX_TIMESTAMP)
    throw new RpcError(ErrorCode.blockTimestampInvalid, `${placeOf(index)}: the block's time would exceed 2^64 - 1`)
  return timestamp
}

function knownRules(
  chain: ChainRules,
  base: BlockHeader,
  number: bigint,
  timestamp: bigint,
  index: number | undefined,
): BlockRules {
  const { unsupportedFrom } = chain
  if (unsupportedFrom !== undefined && timestamp >= unsupportedFrom.timestamp)
    throw new RpcError(
      ErrorCode.serverError,
      `${placeOf(index)}: block ${number} at time ${timestamp} is after fork ${unsupportedFrom.fork}, which is not supported`,
    )
  const told = rulesAt(chain, number, timestamp)
  if (told === undefined && chain.source === 'eth_config')
    throw new RpcError(
      ErrorCode.serverError,
      `${placeOf(index)}: block ${number} at time ${timestamp} is before the fork that the node's eth_config calls current, and its rules are unknown: set CHAIN_GENESIS_FILE to the chain's genesis file`,
    )
  if (chain.source === 'inferred' && base.difficulty === 0n && isOlderThanInferred(base, chain))
    throw new RpcError(
      ErrorCode.serverError,
      `${placeOf(index)}: block ${base.number} is older than the fork of the head, from whose header the rules are inferred: for older blocks, set CHAIN_GENESIS_FILE to the chain's genesis file`,
    )
  const rules = chain.source === 'inferred' && base.difficulty !== 0n ? undefined : (told ?? impliedRules(base, chain))
  if (rules === undefined)
    throw new RpcError(
      ErrorCode.serverError,
      `${placeOf(index)}: block ${number} is before ${chain.stack === 'optimism' ? 'Bedrock' : 'the Merge'}: such blocks are not supported`,
    )
  return rules
}

function withdrawalsOf(
  overrides: BlockOverrides,
  rules: BlockRules,
  index: number | undefined,
): PlannedBlock['withdrawals'] {
  const withdrawals = overrides.withdrawals ?? []
  if (withdrawals.length > 0 && isOpForkActive(rules, 'isthmus'))
    throw new RpcError(
      ErrorCode.serverError,
      `blockStateCalls[${index}].blockOverrides.withdrawals: OP-stack blocks have no withdrawals since Isthmus`,
    )
  return isForkActive(rules.fork, 'shanghai') ? withdrawals : []
}

function placeOf(index: number | undefined): string {
  return index === undefined ? 'blockStateCalls' : `blockStateCalls[${index}]`
}

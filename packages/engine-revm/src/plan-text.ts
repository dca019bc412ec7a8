import type { AccessListEntry, Authorization, BlockHeader, StateOverride } from '@upfront/protocol'
import type { BlockRules, ChainRules, PlannedBlock, PlannedCall, SimulationPlan } from '@upfront/simulation'

// One value a line, in the order in which crates/bindings/src/decode.rs reads them: hex without prefix for numbers, with it
// for bytes, `-` for what is absent. Text, because hex strings are what there is on both sides of the border: joining them
// is a fraction of the cost of turning each into bytes (5,000 calls: 3 ms).

export function quantity(value: bigint): string {
  // Most are zero, and to write a bigint is a call into the runtime.
  return value === 0n ? '0\n' : `${value.toString(16)}\n`
}

export function optionalQuantity(value: bigint | undefined): string {
  return value === undefined ? '-\n' : quantity(value)
}

function count(value: number): string {
  return value < 10 ? `${value}\n` : `${value.toString(16)}\n`
}

export function optionalText(value: string | undefined | null): string {
  return `${value ?? '-'}\n`
}

export function flag(value: boolean): string {
  return value ? '1\n' : '0\n'
}

export function list<T>(items: readonly T[], text: (item: T) => string): string {
  let out = count(items.length)
  for (const item of items) out += text(item)
  return out
}

export function planText(plan: SimulationPlan): string {
  return (
    chainText(plan.rules) +
    parentText(plan.base, plan.baseRules) +
    flag(plan.validation) +
    flag(plan.traceTransfers) +
    quantity(plan.gasBudget) +
    optionalQuantity(plan.daFootprintScalar) +
    list(plan.likelyReads ?? [], ({ contract, key, position }) => `${contract}\n${key}\n${count(position)}`) +
    blocksText(plan.blocks)
  )
}

export function chainText(rules: ChainRules): string {
  return quantity(rules.chainId) + optionalText(rules.depositContract)
}

export function rulesText(rules: BlockRules): string {
  const blob = rules.blob
  return (
    `${rules.fork}\n` +
    optionalText(rules.opFork) +
    (blob === undefined ? '-\n' : count(blob.target) + count(blob.max) + quantity(blob.baseFeeUpdateFraction))
  )
}

function parentText(header: BlockHeader, rules: BlockRules): string {
  return (
    `${header.hash}\n` +
    quantity(header.number) +
    quantity(header.timestamp) +
    quantity(header.gasLimit) +
    quantity(header.gasUsed) +
    quantity(header.baseFeePerGas ?? 0n) +
    quantity(header.blobGasUsed ?? 0n) +
    quantity(header.excessBlobGas ?? 0n) +
    optionalText(header.withdrawalsRoot) +
    rulesText(rules)
  )
}

/** Text of what a block has in common with the one before it is not made again. */
function blocksText(blocks: readonly PlannedBlock[]): string {
  let out = count(blocks.length)
  let before: PlannedBlock | undefined
  let gasLimit = ''
  let baseFee = ''
  let rules = ''
  for (const block of blocks) {
    if (block.gasLimit !== before?.gasLimit) gasLimit = quantity(block.gasLimit)
    if (block.baseFeeParameters !== before?.baseFeeParameters) baseFee = baseFeeText(block.baseFeeParameters)
    if (block.rules !== before?.rules) rules = rulesText(block.rules)
    out += blockText(block, gasLimit, baseFee, rules)
    before = block
  }
  return out
}

function baseFeeText({ elasticity, denominator, minimum }: PlannedBlock['baseFeeParameters']): string {
  return quantity(elasticity) + quantity(denominator) + quantity(minimum)
}

function blockText(block: PlannedBlock, gasLimit: string, baseFee: string, rules: string): string {
  return (
    quantity(block.number) +
    quantity(block.timestamp) +
    gasLimit +
    `${block.feeRecipient}\n${block.prevRandao}\n` +
    optionalQuantity(block.baseFeePerGas) +
    baseFee +
    optionalQuantity(block.blobBaseFee) +
    optionalText(block.parentBeaconBlockRoot) +
    `${block.extraData}\n` +
    rules +
    list(
      block.withdrawals,
      (withdrawal) =>
        quantity(withdrawal.index) +
        quantity(withdrawal.validatorIndex) +
        `${withdrawal.address}\n` +
        quantity(withdrawal.amount),
    ) +
    list(block.stateOverrides, overrideText) +
    list(block.calls, callText)
  )
}

function overrideText(override: StateOverride): string {
  return (
    `${override.address}\n` +
    optionalQuantity(override.balance) +
    optionalQuantity(override.nonce) +
    optionalText(override.code) +
    optionalText(override.movePrecompileToAddress) +
    (override.state !== undefined
      ? `state\n${list(override.state, slotText)}`
      : override.stateDiff !== undefined
        ? `stateDiff\n${list(override.stateDiff, slotText)}`
        : '-\n')
  )
}

export function slotText([slot, value]: readonly [string, string]): string {
  return `${slot}\n${value}\n`
}

function callText(call: PlannedCall): string {
  return (
    count(call.type) +
    `${call.from}\n` +
    optionalText(call.to) +
    `${call.input}\n` +
    quantity(call.value) +
    optionalQuantity(call.nonce) +
    optionalQuantity(call.gas) +
    optionalQuantity(call.gasPrice) +
    quantity(call.maxFeePerGas ?? 0n) +
    quantity(call.maxPriorityFeePerGas ?? 0n) +
    quantity(call.maxFeePerBlobGas ?? 0n) +
    list(call.accessList, accessText) +
    (call.blobVersionedHashes === undefined ? '-\n' : list(call.blobVersionedHashes, line)) +
    (call.authorizationList === undefined ? '-\n' : list(call.authorizationList, authorizationText))
  )
}

function line(text: string): string {
  return `${text}\n`
}

function accessText(entry: AccessListEntry): string {
  return `${entry.address}\n${list(entry.storageKeys, line)}`
}

function authorizationText(authorization: Authorization): string {
  return (
    quantity(authorization.chainId) +
    `${authorization.address}\n` +
    quantity(authorization.nonce) +
    quantity(authorization.yParity) +
    quantity(authorization.r) +
    quantity(authorization.s)
  )
}

import { type Address, formatEther, formatGwei, type Hex, hexToBigInt, parseEther, toHex } from 'viem'
import { shortAddress } from '../address-text.js'
import { type CallDraft, type Draft, EMPTY_ACCOUNT, type Remedy, withBlock } from '../request/draft.js'
import { call } from '../rpc.js'
import type { SimulatedCall } from './answer.js'
import { errorText, failedPath } from './outcome.js'
import { type Failure, failureIn, type Outcome, outcomeOn, type Request, requestOf, simulate } from './simulation.js'
import { tokenSteps } from './token-remedies.js'

/** Error codes of execution-apis. */
const CODES = {
  nonceTooLow: -38010,
  nonceTooHigh: -38011,
  baseFeeTooLow: -38012,
  intrinsicGas: -38013,
  insufficientFunds: -38014,
}
/** A request may lack several things at once. */
const MAX_STEPS = 4
/** Added to the balance that an account needs for its value: enough for fees. */
const SPARE = parseEther('1')

/** A change that makes the request succeed; undefined if none is known. */
export async function remedyFor(
  request: Request,
  outcome: Outcome,
  state: string,
  signal: AbortSignal,
): Promise<Remedy | undefined> {
  const labels: string[] = []
  let [tried, became] = [request, outcome]
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    const step = await nextStep(tried, became, labels, state, signal)
    if (step === undefined || labels.includes(step.label)) return undefined
    labels.push(step.label)
    tried = requestOf(step.draft)
    became = await outcomeOn(tried, state, signal)
    if (became.kind === 'answered' && failureIn(became) === undefined)
      return { label: sentence(labels), draft: step.draft }
  }
  return undefined
}

function sentence(labels: string[]): string {
  return labels.map((label, at) => (at === 0 ? label : label[0]!.toLowerCase() + label.slice(1))).join(', then ')
}

async function nextStep(
  request: Request,
  outcome: Outcome,
  done: readonly string[],
  state: string,
  signal: AbortSignal,
): Promise<Remedy | undefined> {
  if (outcome.kind === 'refused') return refusedStep(request.draft, outcome.code, state)
  const failure = failureIn(outcome)
  if (failure === undefined) return undefined
  const path = failedPath(failure.outcome.trace)
  const last = path.at(-1)
  if (last === undefined) return undefined
  const { draft } = request
  const at = draft.blocks[failure.block]?.calls[failure.index]
  if (at === undefined) return undefined
  if (/out of gas|gas uint64 overflow/.test(path.map(({ error }) => error).join()) && at.gas !== '')
    return moreGas(request, failure, state, signal)
  if (/insufficient (balance|funds)/.test(last.error ?? ''))
    return richer(draft, failure.block, last.from, hexToBigInt(last.value ?? '0x0'))
  const steps = tokenSteps(draft, failure, last, errorText(last.decoded?.error))
  return steps.find(({ label }) => !done.includes(label))
}

/** Fixes a rejected plan. Changes all calls alike, because the error names none reliably. */
async function refusedStep(draft: Draft, code: number, state: string): Promise<Remedy | undefined> {
  const [block] = draft.blocks
  const sender = block?.calls[0]?.from
  const edit = (label: string, fields: Partial<CallDraft>): Remedy => ({
    label,
    draft: {
      ...draft,
      blocks: draft.blocks.map((one) => ({ ...one, calls: one.calls.map((own) => ({ ...own, ...fields })) })),
    },
  })
  switch (code) {
    case CODES.nonceTooLow:
    case CODES.nonceTooHigh: {
      if (!sender) return undefined
      const { result } = await call<Hex>('eth_getTransactionCount', [sender, state])
      return edit(`Use nonce ${hexToBigInt(result)}`, { nonce: '' })
    }
    case CODES.baseFeeTooLow: {
      const { result } = await call<Hex>('eth_gasPrice', [])
      const most = 2n * hexToBigInt(result)
      return edit(`Offer up to ${formatGwei(most)} gwei per gas`, {
        gasPrice: '',
        maxFeePerGas: `${most}`,
        maxPriorityFeePerGas: '',
      })
    }
    case CODES.intrinsicGas:
      return edit('Leave the gas limit to the node', { gas: '' })
    case CODES.insufficientFunds: {
      const typed = block?.calls.map(({ value }) => value).find((value) => value !== '')
      return sender ? richer(draft, 0, sender as Address, typed === undefined ? 0n : weiOf(typed)) : undefined
    }
    default:
      return undefined
  }
}

function weiOf(typed: string): bigint {
  return typed.startsWith('0x') ? BigInt(typed) : parseEther(typed)
}

/** @param needed wei */
function richer(draft: Draft, block: number, account: Address, needed: bigint): Remedy {
  const held = needed + SPARE
  const override = { ...EMPTY_ACCOUNT, address: account, balance: toHex(held) }
  return {
    label: `Pretend that ${shortAddress(account)} holds ${formatEther(held)} ETH`,
    draft: withBlock(draft, block, (one) => ({ ...one, accounts: [...one.accounts, override] })),
  }
}

async function moreGas(
  request: Request,
  { block, index }: Failure,
  state: string,
  signal: AbortSignal,
): Promise<Remedy | undefined> {
  const free = withCall(request.draft, block, index, { gas: '' })
  const { result } = await simulate(requestOf(free), state, { gasLimits: true }, signal)
  const own = result[block]?.calls[(request.before[block] ?? 0) + index] as
    | (SimulatedCall & { gasLimit?: Hex })
    | undefined
  if (own === undefined || own.error !== undefined) return undefined
  const limit = hexToBigInt(own.gasLimit ?? own.gasUsed)
  return {
    label: `Give it ${limit.toLocaleString('en')} gas`,
    draft: withCall(free, block, index, { gas: `${limit}` }),
  }
}

function withCall(draft: Draft, block: number, index: number, fields: Partial<CallDraft>): Draft {
  return withBlock(draft, block, (one) => ({
    ...one,
    calls: one.calls.with(index, { ...one.calls[index]!, ...fields }),
  }))
}

import { type Address, decodeFunctionData, type Hex, parseAbi, toHex } from 'viem'
import { shortAddress } from '../address-text.js'
import { type Draft, EMPTY_CALL, type Remedy, withBlock } from '../request/draft.js'
import { isObject } from '../request/json.js'
import type { Frame } from './answer.js'
import type { Failure } from './simulation.js'

const TRANSFERS = parseAbi([
  'function transfer(address to, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
])

interface Taking {
  token: Address
  owner: Address
  /** Undefined if the owner transfers directly. */
  spender: Address | undefined
  value: bigint
}

/**
 * Changes that may let a token's failing transfer succeed, likeliest first: an allowance, if the
 * signer's own tokens are taken, then a balance.
 * @param reason of the failure, in words
 */
export function tokenSteps(draft: Draft, failure: Failure, frame: Frame, reason: string | undefined): Remedy[] {
  const taking = takingOf(frame)
  if (taking === undefined) return []
  const steps = [
    ...(taking.spender !== undefined && taking.owner === failure.outcome.trace.from
      ? [allowing(draft, failure, { ...taking, spender: taking.spender })]
      : []),
    ...holding(draft, failure, taking),
  ]
  return reason !== undefined && /balance/i.test(reason) && !/allow/i.test(reason) ? steps.toReversed() : steps
}

function takingOf({ from, to: token, input }: Frame): Taking | undefined {
  if (token === undefined) return undefined
  try {
    const { functionName, args } = decodeFunctionData({ abi: TRANSFERS, data: input ?? '0x' })
    return functionName === 'transfer'
      ? { token, owner: from, spender: undefined, value: args[1] }
      : { token, owner: args[0].toLowerCase() as Address, spender: from, value: args[2] }
  } catch {
    return undefined
  }
}

function allowing(draft: Draft, { block, index }: Failure, { token, owner, spender, value }: Taking): Remedy {
  const data = `approve(address,uint256) ["${spender}", "${value}"]`
  const call = { ...EMPTY_CALL, from: owner, to: token, data }
  return {
    label: `Allow ${shortAddress(spender ?? '')} to take what it needs first`,
    draft: withBlock(draft, block, (one) => ({ ...one, calls: one.calls.toSpliced(index, 0, call) })),
  }
}

/** Uses the gateway's `erc20` overrides, which find the slot. */
function holding(draft: Draft, { block }: Failure, { token, owner, value }: Taking): Remedy[] {
  const given = overridesOf(draft.blocks[block]?.overrides ?? '')
  if (given === undefined) return []
  const erc20 = isObject(given.erc20) ? given.erc20 : {}
  const own = isObject(erc20[token]) ? erc20[token] : {}
  const balances = { ...(isObject(own.balances) ? own.balances : {}), [owner]: toHex(value) satisfies Hex }
  const overrides = { ...given, erc20: { ...erc20, [token]: { ...own, balances } } }
  return [
    {
      label: `Pretend that ${shortAddress(owner)} holds what it needs of the token`,
      draft: withBlock(draft, block, (one) => ({ ...one, overrides: JSON.stringify(overrides, null, 2) })),
    },
  ]
}

function overridesOf(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {}
  try {
    const given: unknown = JSON.parse(text)
    return isObject(given) ? given : undefined
  } catch {
    return undefined
  }
}

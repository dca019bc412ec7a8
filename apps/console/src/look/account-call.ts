import type { Address, Hex } from 'viem'
import type { AssetChanges } from './assets.js'
import type { SimulatedCall } from './outcome.js'

/** A part of a user operation, as the gateway shows it. */
interface Part {
  status: Hex
  gasUsed: Hex
  error?: string
}

interface Validation extends Part {
  signature?: 'valid' | 'invalid' | 'missing' | 'aggregated'
  assumed?: 'signature' | 'validation'
  validAfter?: Hex
  validUntil?: Hex
}

/** A user operation beside the call of its entry point. */
export interface Operation {
  sender: Address
  entryPoint: Address
  userOpHash?: Hex
  status: Hex
  refusal?: string
  validation?: Validation
  paymaster?: Validation & { address: Address }
  brokenRules: { rule: string; entity: string; contract: Address; what: string }[]
  execution?: Part & { transfers?: AssetChanges['transfers']; approvals?: AssetChanges['approvals'] }
  actualGasUsed?: Hex
  actualGasCost?: Hex
}

/** A Safe's transaction beside the call of the Safe. */
export interface SafeTransaction {
  safe: Address
  version: string
  safeTxHash: Hex
  nonce: Hex
  nextNonce: Hex
  threshold: Hex
  owners: Address[]
  guard?: Address
  isGuarded: boolean
  status: Hex
  error?: string
}

/** Who acts: the account behind an entry point or a Safe, else the sender. */
export function actorOf({ userOperation, safeTransaction, trace }: SimulatedCall): Address {
  return userOperation?.sender ?? safeTransaction?.safe ?? trace.from
}

/**
 * The call as what its account does: of a user operation the moves of its execution (its fees are told apart), and a failure of the account's own
 * that the entry point or the Safe lives on with.
 */
export function asAccountCall(call: SimulatedCall): SimulatedCall {
  const { userOperation, safeTransaction, assetChanges } = call
  if (userOperation === undefined && safeTransaction === undefined) return call
  const { transfers = [], approvals = [] } = userOperation?.execution ?? {}
  const { balances, owners } = assetChanges
  const moved = { transfers, approvals, owners, balances: balances.filter(({ type }) => type !== 'native') }
  const why = failureOf(call)
  return {
    ...call,
    ...(userOperation && { assetChanges: moved }),
    ...(why !== undefined && call.error === undefined && { error: { code: 3, message: why } }),
  }
}

/** Why what the account does fails, in the words of the gateway; undefined where it does not, and for any other call. */
export function failureOf({ userOperation, safeTransaction }: SimulatedCall): string | undefined {
  const shown = userOperation ?? safeTransaction
  if (shown === undefined || shown.status !== '0x0') return undefined
  const why = userOperation
    ? (userOperation.refusal ?? userOperation.execution?.error)
    : (safeTransaction?.error ?? undefined)
  return why ?? 'the account’s own call fails'
}

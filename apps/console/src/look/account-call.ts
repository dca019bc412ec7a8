import type { Address } from 'viem'
import type { SimulatedCall } from './answer.js'

/** The acting account: that of a user operation or a Safe, otherwise the sender. */
export function actorOf({ userOperation, safeTransaction, trace }: SimulatedCall): Address {
  return userOperation?.sender ?? safeTransaction?.safe ?? trace.from
}

/**
 * The call from its account's view: for a user operation, only the transfers of its execution (fees are shown separately); and the failure
 * of the account's own call, which the entry point or the Safe may survive.
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

/** Why the account's own call fails, as the gateway puts it; undefined if it does not, or for other calls. */
export function failureOf({ userOperation, safeTransaction }: SimulatedCall): string | undefined {
  const shown = userOperation ?? safeTransaction
  if (shown === undefined || shown.status !== '0x0') return undefined
  const why = userOperation
    ? (userOperation.refusal ?? userOperation.execution?.error)
    : (safeTransaction?.error ?? undefined)
  return why ?? 'the account’s own call fails'
}

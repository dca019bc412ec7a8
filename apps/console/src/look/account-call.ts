import type { Address } from 'viem'
import type { SimulatedCall } from './answer.js'

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

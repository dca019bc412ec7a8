import { dollarsToUnits, parseSettlementAmount } from '../routes/amount.js'
import type { ChargePolicy, ChargeReason, ChargeRule } from '../routes/charge-policy.js'
import type { HandlerEnd } from './handler-end.js'

export interface ChargeTerms {
  scheme: string
  /** In the asset's smallest unit. */
  maximum: bigint
  decimals: number
  policy: ChargePolicy
}

export interface Charge {
  /** In the asset's smallest unit, from 0 to the maximum. */
  amount: bigint
  reason: ChargeReason
  /** The answer must not be delivered: the policy refuses an invalid amount. */
  refused: boolean
  /** The seller's mistake, for its log. */
  fault?: string
}

/** Decides the amount to charge. @param set the amount as the handler set it; undefined if it set none */
export function decideCharge(end: HandlerEnd, set: unknown, terms: ChargeTerms): Charge {
  const { policy } = terms
  if (end.kind === 'timeout') return byRule(policy.timeout, 'timeout', terms)
  if (end.kind === 'answered' && end.status >= 400) {
    const { failure } = policy
    if (typeof failure === 'string') return byRule(failure, 'failure', terms)
    return byRule(end.status >= 500 ? failure['5xx'] : failure['4xx'], 'failure', terms)
  }
  if (end.kind === 'partial') return byRule(policy.partial, 'partial', terms)
  if (terms.scheme === 'exact') return { amount: terms.maximum, reason: 'price', refused: false }
  if (set === undefined) return byRule(policy.unset, 'unset', terms)
  const amount = parseSettlementAmount(set, terms.maximum, terms.decimals)
  if (amount !== undefined && amount <= terms.maximum) return { amount, reason: 'usage', refused: false }
  const refused = policy.invalid !== 'maximum'
  return {
    amount: refused ? 0n : terms.maximum,
    reason: 'invalid',
    refused,
    fault:
      amount === undefined
        ? `the handler set ${describe(set)}, which is not an amount`
        : `the handler set ${describe(set)}, above the maximum of ${terms.maximum}`,
  }
}

function byRule(rule: ChargeRule, reason: ChargeReason, terms: ChargeTerms): Charge {
  if (rule === 'nothing') return { amount: 0n, reason, refused: false }
  if (rule === 'maximum') return { amount: terms.maximum, reason, refused: false }
  const amount = dollarsToUnits(rule, terms.decimals)
  if (terms.scheme === 'exact' && amount !== undefined && amount < terms.maximum)
    return { amount: 0n, reason, refused: false }
  if (amount === undefined || amount > terms.maximum) return { amount: terms.maximum, reason, refused: false }
  return { amount, reason, refused: false }
}

function describe(set: unknown): string {
  return (typeof set === 'string' ? JSON.stringify(set) : `a ${typeof set}`).slice(0, 100)
}

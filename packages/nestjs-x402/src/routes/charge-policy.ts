import { isDollars } from './amount.js'

/** What the seller charges in a case: nothing, the route's maximum, or a dollar amount up to the maximum. */
export type ChargeRule = 'nothing' | 'maximum' | `$${string}`

/** Why this amount: `usage` is set by the handler, `price` is that of an `exact` payment, the others name a rule of the policy. */
export type ChargeReason = 'usage' | 'price' | 'unset' | 'failure' | 'timeout' | 'partial' | 'invalid'

/**
 * What is charged if the handler's own amount does not decide. The four required cases have no default. An `exact` payment is charged in
 * full or not at all: a dollar amount below the price charges nothing.
 */
export interface ChargePolicy {
  /** The handler succeeded (status below 400) and set no amount. */
  unset: ChargeRule
  /** The handler answered with status 400 or above. One rule for both classes, or one for each. */
  failure: ChargeRule | { '4xx': ChargeRule; '5xx': ChargeRule }
  /** The handler did not end within the route's time-out. */
  timeout: ChargeRule
  /**
   * The client left before the handler answered, or the handler's stream broke off. A client that leaves later, while its payment settles,
   * is charged as if it had stayed, and can fetch the answer again: see `answers`.
   */
  partial: ChargeRule
  /**
   * The handler set an amount that is negative, above the maximum or not an amount. `refuse` (the default) charges nothing and answers 500
   * with the reason; `maximum` charges the maximum and delivers the answer.
   */
  invalid?: 'maximum' | 'refuse'
}

/**
 * The policy in words for buyers, one sentence per case.
 * @param answerSeconds how long an answer can be fetched again; 0 if it can't
 */
export function describePolicy(
  { unset, failure, timeout, partial, invalid = 'refuse' }: ChargePolicy,
  answerSeconds = 0,
  onPending: 'withhold' | 'deliver' = 'withhold',
  isMetered = true,
  isUpfront = false,
): string[] {
  if (isUpfront)
    return [
      'It is paid before anything runs, whatever happens to the request then. The request waits until the payment is on chain.',
    ]
  const sold = isMetered ? 'metered amount' : 'price'
  const failures =
    typeof failure === 'string'
      ? [`If it fails, ${describeRule(failure)}.`]
      : [`If it refuses (4xx), ${describeRule(failure['4xx'])}.`, `If it fails (5xx), ${describeRule(failure['5xx'])}.`]
  return [
    ...(isMetered ? [`If it meters nothing, ${describeRule(unset)}.`] : []),
    ...failures,
    `If it takes too long, ${describeRule(timeout)}.`,
    `If you disconnect before the answer is complete, ${describeRule(partial)}.`,
    answerSeconds === 0
      ? `If you disconnect while the payment settles, you pay the ${sold}.`
      : `If you disconnect while the payment settles, you pay the ${sold}; the same request with the same payment gets the answer for ${answerSeconds} seconds.`,
    onPending === 'deliver'
      ? "If the payment is not on chain soon, you get the answer anyway, at the seller's risk."
      : `If the payment is not on chain soon, you get 402 with settlement_pending${answerSeconds === 0 ? '' : '; the same request with the same payment gets the answer once it is'}.`,
    ...(isMetered
      ? [
          `If the seller sets an amount that can't be charged, you pay ${invalid === 'refuse' ? 'nothing, and you get no answer' : 'the maximum'}.`,
        ]
      : []),
  ]
}

function describeRule(rule: ChargeRule): string {
  return `you pay ${rule === 'maximum' ? 'the maximum' : rule}`
}

/** Faults of a policy with an option that is paid up front: such a payment is never refunded. */
export function upfrontFaults(policy: unknown): string[] {
  const { failure, timeout, partial } = (policy ?? {}) as Partial<Record<keyof ChargePolicy, unknown>>
  return Object.entries({ failure, timeout, partial })
    .filter(([, rule]) => rule !== 'maximum')
    .map(([name]) => `charge.${name}: expected "maximum": an option is paid before the handler runs`)
}

/** All faults of a policy, as `field: problem`. No amount may exceed any of the prices. */
export function policyFaults(policy: unknown, prices: readonly string[]): string[] {
  if (typeof policy !== 'object' || policy === null) {
    return ['charge: is missing: say what is charged as {unset, failure, timeout, partial}']
  }
  const given = policy as Record<string, unknown>
  const faults = ['unset', 'timeout', 'partial'].flatMap((name) => ruleFaults(given[name], `charge.${name}`, prices))
  if (typeof given.failure === 'object' && given.failure !== null) {
    const apart = given.failure as Record<string, unknown>
    for (const name of ['4xx', '5xx']) faults.push(...ruleFaults(apart[name], `charge.failure.${name}`, prices))
  } else {
    faults.push(...ruleFaults(given.failure, 'charge.failure', prices))
  }
  if (given.invalid !== undefined && given.invalid !== 'maximum' && given.invalid !== 'refuse') {
    faults.push(`charge.invalid: expected "maximum" or "refuse", got ${JSON.stringify(given.invalid)}`)
  }
  return faults
}

function ruleFaults(rule: unknown, field: string, prices: readonly string[]): string[] {
  if (rule === undefined) return [`${field}: is missing: say "nothing", "maximum" or a dollar amount such as "$0.01"`]
  if (rule === 'nothing' || rule === 'maximum') return []
  if (typeof rule !== 'string' || !isDollars(rule)) {
    return [`${field}: expected "nothing", "maximum" or a dollar amount such as "$0.01", got ${JSON.stringify(rule)}`]
  }
  const price = prices.find((each) => exceeds(rule, each))
  return price === undefined ? [] : [`${field}: ${rule} is above the price ${price}`]
}

function exceeds(dollars: string, price: string): boolean {
  const scale = Math.max(...[dollars, price].map((text) => text.split('.')[1]?.length ?? 0))
  const scaled = (text: string) => {
    const [whole = '', fraction = ''] = text.slice(1).split('.')
    return BigInt(whole + fraction.padEnd(scale, '0'))
  }
  return scaled(dollars) > scaled(price)
}

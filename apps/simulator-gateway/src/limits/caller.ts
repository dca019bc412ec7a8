import type { FreeBudget } from './free-budget.js'

/** The holder of an API key or a token. */
export interface Holder {
  /** What budgets and turns are counted by. No address looks like it. */
  client: string
  budget: FreeBudget
}

/** Who asks: a holder, or else an address as the socket or a trusted proxy names it. */
export type Caller = string | Holder

/** A payer, by what it had done and did not pay for because it ended in an error: that counts as free work does. */
export function payerAsCaller(payer: string, budget: FreeBudget): Holder {
  return { client: `payer ${payer.toLowerCase()}`, budget }
}

import type { Address } from '@upfront/protocol'
import type { SimulationPlan } from '../plan/simulation-plan.js'

const MAX_ACCOUNTS = 32
const MAX_WORDS = 64
const SELECTOR_DIGITS = '0x'.length + 8
const WORD_DIGITS = 64
/** A word that looks like an address; numbers below 2^128 don't. */
const ADDRESS_WORD = /^0{24}(?!0{8})[0-9a-f]{40}$/

/** Accounts named as ABI words in the input of calls to `callees`, such as pools and tokens in a router's calldata. */
export function namedAccounts(plan: SimulationPlan, callees: ReadonlySet<Address>): Address[] {
  const named = new Set<Address>()
  for (const { calls } of plan.blocks) {
    for (const { to, input } of calls) {
      if (to === null || !callees.has(to)) continue
      const end = Math.min(input.length, SELECTOR_DIGITS + MAX_WORDS * WORD_DIGITS)
      for (let from = SELECTOR_DIGITS; from + WORD_DIGITS <= end; from += WORD_DIGITS) {
        const word = input.slice(from, from + WORD_DIGITS)
        if (!ADDRESS_WORD.test(word)) continue
        named.add(`0x${word.slice(24)}`)
        if (named.size === MAX_ACCOUNTS) return [...named]
      }
    }
  }
  return [...named]
}

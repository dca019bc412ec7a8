import type { CallOutcome, SimulatedCall } from './answer.js'

/** The line below the sentence. */
export interface Holding {
  level: 'good' | 'caution' | 'bad'
  text: string
}

const FACTS: Record<string, string> = {
  slot: 'a stored value',
  balance: 'a balance',
  code: 'an account’s code',
  blockHash: 'the hash of a block',
  time: 'the time',
  number: 'the block number',
  coinbase: 'the block’s producer',
  prevRandao: 'the block’s random number',
  gasLimit: 'the block’s gas limit',
  baseFee: 'the base fee',
  blobBaseFee: 'the blob base fee',
  gasPrice: 'the gas price',
  origin: 'who signs',
  gasLeft: 'the gas left',
}

/** What the outcome of the most fragile call depends on; undefined if no outcome was requested. */
export function holdingOf(calls: readonly Pick<SimulatedCall, 'outcome'>[]): Holding | undefined {
  const outcomes = calls.flatMap(({ outcome }) => outcome ?? [])
  if (outcomes.length === 0) return undefined
  const reasonsOf = (verdict: CallOutcome['verdict']) =>
    outcomes.filter((outcome) => outcome.verdict === verdict).flatMap(({ because }) => because)
  const [trap] = reasonsOf('watched')
  if (trap !== undefined) {
    const fact = FACTS[trap.fact?.kind ?? ''] ?? 'more values than can be followed'
    return {
      level: 'bad',
      text: `Behaves differently in a simulation: it looks at ${fact}. Under ${trap.under}: ${trap.effect}.`,
    }
  }
  const changes = [...new Map(reasonsOf('changes').map((reason) => [reason.under, reason])).values()]
  if (changes.length > 0) {
    const parts = changes.map(({ under, effect }) => `${under} (${effect})`)
    return { level: 'caution', text: `Changes if: ${parts.join('; ')}.` }
  }
  return { level: 'good', text: 'Holds: the same a minute later, in another block, for another gas price.' }
}

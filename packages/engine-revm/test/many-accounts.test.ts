import { developmentPoint, planOf } from '@upfront/engine-conformance'
import { NO_RECORDING, type StateRead, type StateValue } from '@upfront/simulation'
import { createRevmEngine, loadRevm } from '../src/index.js'

const { reason } = loadRevm()
// The portable build has no thread clock, so its look-aheads never end by time.
const withAddon = reason === undefined ? it : it.skip
if (reason !== undefined) console.warn(`many accounts: skipped, ${reason}`)

const ACCOUNTS = 6_000
const CONTRACT = '0x00000000000000000000000000000000000c0de0'
/** Reads the balance of each account from 0xaa000000 + ACCOUNTS down to 0xaa000001. */
const BALANCES = `0x62${ACCOUNTS.toString(16).padStart(6, '0')}5b8063aa0000000131506001900380600457`
const CANCELLATION = { signal: new AbortController().signal }

withAddon.each([
  ['nothing', NO_RECORDING],
  ['state', { ...NO_RECORDING, state: true }],
  ['frames and state', { ...NO_RECORDING, frames: true, state: true }],
])('a call that reads 6,000 unknown accounts takes at most 12 rounds, with %s recorded', async (_, recording) => {
  const engine = createRevmEngine({ threads: 1 })
  try {
    const payload = {
      blockStateCalls: [{ stateOverrides: { [CONTRACT]: { code: BALANCES } }, calls: [{ to: CONTRACT }] }],
    }
    let rounds = 0
    const read = new Set<string>()
    let step = await engine.begin({ ...planOf(payload), recording }, developmentPoint, CANCELLATION)
    for (; step.kind === 'lacking'; rounds += 1) {
      // The next account is certainly needed; all later ones are guesses.
      expect([step.certain > 0, step.certain <= 6]).toEqual([true, true])
      for (const each of step.reads) if (each.kind === 'balance') read.add(each.address)
      step = await step.resume(step.reads.map(nothing))
    }
    expect(read.size).toBeGreaterThan(ACCOUNTS)
    expect(rounds).toBeLessThanOrEqual(12)
  } finally {
    await engine.close()
  }
})

function nothing({ kind }: StateRead): StateValue {
  if (kind === 'balance' || kind === 'nonce') return 0n
  return kind === 'code' ? '0x' : `0x${'0'.repeat(64)}`
}

import { ZERO_HASH } from '@upfront/protocol'
import { aHeader, ethereumRules } from '../../test/fixtures.js'
import { planTracedCall } from './plan-traced-call.js'
import { NO_RECORDING } from './recording.js'

const block = aHeader({ number: 100n, timestamp: 1000n })

function baseOf(blockOverrides: object, of = block) {
  const request = { call: {}, stateOverrides: [], blockOverrides } as unknown as Parameters<typeof planTracedCall>[0]
  const limits = { gas: 50_000_000n, answerBytes: 1_000_000 }
  const { base, blocks } = planTracedCall(request, { base: of }, ethereumRules(), limits, NO_RECORDING)
  return { number: blocks[0]?.number, base }
}

// BLOCKHASH knows `base` and its ancestors.
describe('planTracedCall', () => {
  it('hides the hash of the call’s own block, and keeps those of its ancestors', () => {
    const unnamed = { number: 100n, hash: ZERO_HASH, parentHash: block.parentHash }
    expect(baseOf({})).toMatchObject({ number: 100n, base: unnamed })
    expect(baseOf({ number: 105n })).toMatchObject({ number: 105n, base: unnamed })
    const genesis = aHeader({ number: 0n, timestamp: 0n })
    expect(baseOf({ number: 5n }, genesis)).toMatchObject({ number: 5n, base: { number: 0n, hash: ZERO_HASH } })
  })

  it('keeps that hash if a number override puts the call in the next block', () => {
    expect(baseOf({ number: 101n })).toMatchObject({ number: 101n, base: { number: 100n, hash: block.hash } })
  })
})

import { DEVNET_ACCOUNTS } from '@upfront/devnet'
import { type PreconfirmedStand, send, startStand } from './preconfirmed-stand.js'
import { placeTwinCounters, READ_TWINS, TWIN_COUNTERS, twinsFrom } from './twin-counters.js'

/** How many different states must be seen. */
const STATES = Number(process.env.PRECONFIRMED_LOAD_STATES ?? 10)
const ANSWERS = 100
const CLIENTS = 8
const [ALICE] = DEVNET_ACCOUNTS as [(typeof DEVNET_ACCOUNTS)[number]]

describe('pending with 8 clients that simulate without a pause, and flashblocks every 200 ms', () => {
  let stand: PreconfirmedStand
  beforeAll(async () => {
    stand = await startStand()
    await placeTwinCounters(stand.devnet.rpcUrl)
  })
  afterAll(() => stand.stop())

  it('never shows part of a flashblock, nor the state of one block with another one’s number', async () => {
    const seen = new Set<bigint>()
    let answers = 0
    const enough = () => seen.size >= STATES && answers >= ANSWERS
    const sending = (async () => {
      for (let nonce = 0; !enough(); nonce++) {
        await send(stand, ALICE.privateKey, { to: TWIN_COUNTERS, gas: 100_000n, nonce })
        await new Promise((resolve) => setTimeout(resolve, 40))
      }
    })()
    const client = async () => {
      let last = { block: 0n, first: 0n }
      while (!enough()) {
        const { result, answerState } = await stand.ask<{ calls: { returnData: string }[] }[]>(
          'eth_simulateV1',
          READ_TWINS,
        )
        const [one, two] = result.map(({ calls }) => twinsFrom(calls[0]?.returnData ?? ''))
        if (!one || !two) throw new Error('no answer')
        expect(one.second).toBe(one.first)
        expect([two.first, two.second, two.number]).toEqual([one.first, one.second, one.number + 1n])
        if (answerState?.kind === 'preconfirmed') expect(one.number).toBe(answerState.block)
        else expect(one.number).toBe((answerState?.block ?? 0n) + 1n)
        expect(one.number).toBeGreaterThanOrEqual(last.block)
        if (one.number === last.block) expect(one.first).toBeGreaterThanOrEqual(last.first)
        last = { block: one.number, first: one.first }
        seen.add(one.first)
        answers++
      }
    }
    await Promise.all([sending, ...Array.from({ length: CLIENTS }, client)])
    // Listeners added for a request are removed again.
    expect(stand.gateway.output()).not.toContain('MaxListenersExceededWarning')
  }, 120_000)
})

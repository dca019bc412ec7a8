import { DEVNET_ACCOUNTS, STREAM_FAULTS } from '@upfront/devnet'
import { type PreconfirmedStand, send, startStand, until } from './preconfirmed-stand.js'
import { placeTwinCounters, READ_TWINS, TWIN_COUNTERS, type Twins, twinsFrom } from './twin-counters.js'

const [ALICE] = DEVNET_ACCOUNTS as [(typeof DEVNET_ACCOUNTS)[number]]

interface View extends Twins {
  block: bigint
  flashblock: number
  payloadId: string
}

describe('pending on a stream with faults', () => {
  let stand: PreconfirmedStand
  let sending = true
  let sender: Promise<void>
  beforeAll(async () => {
    stand = await startStand({ blockTimeSeconds: 1 }, { FLASHBLOCKS_SILENCE_MS: '700' })
    await placeTwinCounters(stand.devnet.rpcUrl)
    sender = (async () => {
      for (let nonce = 0; sending; nonce++) {
        await send(stand, ALICE.privateKey, { to: TWIN_COUNTERS, gas: 100_000n, nonce })
        await new Promise((resolve) => setTimeout(resolve, 60))
      }
    })()
  })
  afterAll(async () => {
    sending = false
    await sender
    await stand.stop()
  })

  async function look(): Promise<View | undefined> {
    const { result, answerState } = await stand.ask<{ calls: { returnData: string }[] }[]>('eth_simulateV1', READ_TWINS)
    const [one, two] = result.map(({ calls }) => twinsFrom(calls[0]?.returnData ?? ''))
    if (!one || !two) throw new Error('no answer')
    expect(one.second).toBe(one.first)
    expect([two.first, two.second, two.number]).toEqual([one.first, one.second, one.number + 1n])
    if (answerState?.kind !== 'preconfirmed') {
      expect(answerState?.kind).toBe('latest')
      return undefined
    }
    expect(one.number).toBe(answerState.block)
    return { ...one, ...answerState }
  }

  it.each(STREAM_FAULTS)(
    '%s: shows a consistent prefix or the head during it, and the newest flashblock afterwards',
    async (fault) => {
      await until(async () => (await look()) !== undefined)
      await stand.inject(fault)
      const start = await stand.node.getBlockNumber()
      let last: View | undefined
      await until(async () => {
        const view = await look()
        if (view && last && view.payloadId === last.payloadId) {
          expect(view.flashblock).toBeGreaterThanOrEqual(last.flashblock)
          expect(view.first).toBeGreaterThanOrEqual(last.first)
        }
        last = view
        return (await stand.node.getBlockNumber()) >= start + 2n
      })
      await until(async () => {
        const view = await look()
        return view !== undefined && view.block === (await stand.node.getBlockNumber()) + 1n && view.flashblock > 2
      })
      expect(stand.gateway.process.exitCode).toBeNull()
    },
  )

  it('has counted flashblocks by arrival, and events by kind', async () => {
    for (const arrival of ['duplicate', 'gap', 'restart', 'stale', 'ahead'])
      expect(await stand.gateway.metric(`upfront_flashblocks_total{arrival="${arrival}"}`)).toBeGreaterThan(0)
    for (const event of ['mismatch', 'lost', 'connected', 'undecodable', 'folded', 'fallback'])
      expect(await stand.gateway.metric(`upfront_preconfirmed_events_total{event="${event}"}`)).toBeGreaterThan(0)
  })
})

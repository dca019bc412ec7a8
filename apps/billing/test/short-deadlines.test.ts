import { MAX_SETTLEMENT_SECONDS } from '@upfront/protocol'
import { createPublicClient, http } from 'viem'
import { runBilling } from './support/billing.js'
import { makeRequirements, sign } from './support/buyer.js'
import { facilitatorWallet, rpc } from './support/on-chain.js'
import { useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const IN_FLIGHT = 3

describe.each(oneStore())('short deadlines with 12 s blocks, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)
  const { anvil } = stand
  const chain = () => createPublicClient({ transport: http(stand.devnet.rpcUrl), cacheTime: 0 })

  test('no transaction is sent that would be mined after its deadline', async () => {
    const { rpcUrl } = stand.devnet
    // Block timestamps run ahead of the clock, and they are what counts.
    await rpc(rpcUrl, 'anvil_setBlockTimestampInterval', [12])
    await anvil().mine({ blocks: 12 })
    await anvil().setAutomine(false)
    const billing = await runBilling(rpcUrl, {
      inFlightPerSigner: `${IN_FLIGHT}`,
      recoveryMs: '200',
      feeBumpMs: '60000',
    })
    try {
      const { timestamp } = await chain().getBlock()
      const endingIn = (seconds: number) => {
        const maxTimeoutSeconds = Number(timestamp) + seconds - Math.floor(Date.now() / 1_000)
        return sign(makeRequirements({ maxTimeoutSeconds }))
      }
      // The next block may come after this deadline.
      expect(await billing.authorize(await endingIn(8))).toMatchObject({ reason: 'permit2_deadline_expired' })
      // Sellers rely on this: their own timeout, plus at most this for the settlement.
      const minimumValiditySeconds = 30
      const tightest = await endingIn(minimumValiditySeconds + MAX_SETTLEMENT_SECONDS)
      expect(await billing.authorize(tightest, { minimumValiditySeconds })).toMatchObject({ outcome: 'authorized' })

      // These expire before the block after next: the next block takes as many as may be in flight.
      const { address } = facilitatorWallet(stand.devnet).account
      const before = await chain().getTransactionCount({ address })
      const payments = await Promise.all(
        Array.from({ length: IN_FLIGHT + 2 }, async () => {
          const result = await billing.authorize(await endingIn(17))
          if (result.outcome !== 'authorized') throw new Error(result.reason)
          return result.payment.id
        }),
      )
      for (const id of payments) await billing.charge(id, '1000', { waitMilliseconds: 0 })
      const standings = async () =>
        (await Promise.all(payments.map((id) => billing.payment(id)))).map(({ state }) => state)
      const count = (states: string[], wanted: string) => states.filter((state) => state === wanted).length
      const pending = async () => BigInt(((await rpc(rpcUrl, 'txpool_status', [])) as { pending: string }).pending)
      await until(pending, (transactions) => transactions === BigInt(IN_FLIGHT))
      await anvil().mine({ blocks: 1 })
      await until(standings, (states) => count(states, 'settled') === IN_FLIGHT)
      const ended = await until(
        standings,
        (states) => count(states, 'failed') === 2,
        () => anvil().mine({ blocks: 1 }),
      )
      expect(count(ended, 'settled')).toBe(IN_FLIGHT)
      expect((await chain().getTransactionCount({ address })) - before).toBe(IN_FLIGHT)
    } finally {
      await billing.close()
    }
  })
})

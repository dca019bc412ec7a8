import { createTestClient, http } from 'viem'
import { batchGasLimit, encodeBatch } from '../src/chain/settlement-batch.js'
import { UPTO_PROXY } from '../src/chain/settlement-call.js'
import { sign } from './support/buyer.js'
import { delegateFacilitator, facilitatorWallet, rpc, settlementCall } from './support/on-chain.js'
import { useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

describe.each(oneStore())('a batch that the same key sent past billing, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)

  test('settles each payment by its own transfer, and resends the one that failed in the batch', async () => {
    const payloads = await Promise.all([sign(), sign(), sign()])
    const ids: string[] = []
    for (const payload of payloads) {
      const result = await stand.billing.authorize(payload)
      if (result.outcome !== 'authorized') throw new Error(result.reason)
      ids.push(result.payment.id)
    }
    const { devnet, billing } = stand
    await delegateFacilitator(devnet)
    // The second is above its maximum; the other two look alike.
    const amounts = [40n, 100_001n, 40n]
    const items = payloads.map((payload, index) => {
      return { gas: 150_000n, to: UPTO_PROXY, call: settlementCall(payload, amounts[index]!) }
    })
    const wallet = facilitatorWallet(devnet)
    const data = encodeBatch(wallet.account.address, items)
    const transaction = await wallet.sendTransaction({
      chain: null,
      to: wallet.account.address,
      data,
      gas: batchGasLimit(items, data),
    })
    for (const id of ids) await billing.charge(id, '40', { waitMilliseconds: 0 })
    const anvil = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
    const settled = await Promise.all(
      ids.map((id) =>
        until(
          () => billing.payment(id),
          ({ state }) => state === 'settled',
          () => anvil.mine({ blocks: 1 }),
        ),
      ),
    )
    expect(settled[0]).toMatchObject({ transaction, charge: 40n })
    expect(settled[1]?.transaction).not.toBe(transaction)
    expect(settled[2]).toMatchObject({ transaction, charge: 40n })
    // Each bears a third of what the batch used.
    const { gasUsed } = (await rpc(devnet.rpcUrl, 'eth_getTransactionReceipt', [transaction])) as { gasUsed: string }
    const share = BigInt(gasUsed) / 3n
    expect(settled[0]!.gasUsed! - share).toBeLessThan(3n)
    expect(settled[2]!.gasUsed).toBe(share)
    // Reconciliation knows each transfer by its position in the batch.
    expect((await billing.send('/reconciliation')).body).toMatchObject({ settledPayments: 3, differences: [] })
  })
})

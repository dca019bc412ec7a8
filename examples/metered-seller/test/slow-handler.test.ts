import { balanceOf, buyer, receiptOf } from './buyer.js'
import { stores as chosenStores, type Stand, startStand } from './stand.js'

const { pay } = buyer('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')
const stores = chosenStores()
/** Both stores wait for the seller's timeout of ten seconds at the same time. */
const slow = new Map<string, Promise<{ stand: Stand; response: Response; earned: bigint }>>()

beforeAll(() => {
  for (const store of stores) if (store.missing === null) slow.set(store.name, askSlowly(store))
})
afterAll(async () => {
  for (const asked of slow.values()) await (await asked).stand.stop()
})

async function askSlowly(store: (typeof stores)[number]) {
  const stand = await startStand(store)
  const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)
  const had = await sellerHas()
  const response = await pay(`${stand.seller.url}/metered?charge=$0.03&slowMs=12000`)
  return { stand, response, earned: (await sellerHas()) - had }
}

describe.each(stores)('a handler that takes longer than its 10 s, with billing on $name', (store) => {
  const test = store.missing === null ? it : it.skip

  test('is answered 504, costs nothing, and releases its reservation', async () => {
    const { stand, response, earned } = await (slow.get(store.name) as NonNullable<ReturnType<typeof slow.get>>)
    expect(response.status).toBe(504)
    expect(receiptOf(response)).toMatchObject({ success: true, amount: '0' })
    expect(earned).toBe(0n)
    expect(await stand.payments()).toMatchObject([{ state: 'released', charge: null }])
  }, 120_000)
})

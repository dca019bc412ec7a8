import { balanceOf, buyer, receiptOf } from './buyer.js'
import { type Stand, startStand, stores } from './stand.js'

const { sign } = buyer('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')

/** PGlite is for one billing process: there the replicas are the sellers, and the one process has both signers. */
const layouts = stores().map((store) => ({ store, signers: store.name === 'PGlite' ? [[0, 1]] : [[0], [1]] }))

describe.each(layouts)(
  'two sellers, with the signers $signers in billing processes on $store.name',
  ({ store, signers }) => {
    const test = store.missing === null ? it : it.skip
    let stand: Stand

    beforeAll(async () => {
      if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
      stand = await startStand(store, { signers, sellers: 2 })
    }, 120_000)
    afterAll(() => stand?.stop(), 30_000)

    const urls = () => stand.sellers.map(({ url }) => `${url}/metered`) as [string, string]
    const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)

    test('serve each other’s offers', async () => {
      const [first, second] = urls()
      for (const [asked, paid] of [
        [first, second],
        [second, first],
      ] as const) {
        const had = await sellerHas()
        const response = await fetch(`${paid}?charge=$0.02`, await sign(asked))
        expect(response.status).toBe(200)
        expect(receiptOf(response)).toMatchObject({ success: true, amount: '20000' })
        expect((await sellerHas()) - had).toBe(20_000n)
      }
    }, 30_000)

    test('serve an authorization once between them, also at once and for nothing', async () => {
      const [first, second] = urls()
      const [before, payment] = [await stand.runs(), await sign(first)]
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => fetch(`${index % 2 === 0 ? first : second}?charge=0`, payment)),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect((await stand.runs()) - before).toBe(1)
      for (const url of urls()) expect((await fetch(`${url}?charge=0`, payment)).status).toBe(402)
    }, 30_000)
  },
)

import { balanceOf, buyer, receiptOf } from './buyer.js'
import { type LossyProxy, startLossyProxy } from './lossy-proxy.js'
import { type Stand, startStand, stores } from './stand.js'

const { sign } = buyer('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')
let stand: Stand
let url: string
/** While true, billing works but its answers are dropped. */
let losing = false
let proxy: LossyProxy

beforeAll(async () => {
  stand = await startStand(stores()[0]!, {
    billingUrl: async (real) => {
      proxy = await startLossyProxy(real, () => losing)
      return proxy.url
    },
  })
  url = `${stand.seller.url}/metered`
}, 120_000)
afterAll(async () => {
  await stand?.stop()
  proxy?.close()
})

const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)
const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 100))
}

it('a seller stopped by SIGTERM while billing is down charges what it metered after its next start', async () => {
  const [had, before] = [await sellerHas(), await stand.runs()]
  const payments = await Promise.all(Array.from({ length: 4 }, () => sign(url)))
  const answers = payments.map((payment) => fetch(`${url}?charge=$0.02&slowMs=1500`, payment))
  await until(async () => (await stand.runs()) === before + 4)
  await stand.billing.kill()
  for (const answer of await Promise.all(answers)) {
    expect(answer.status).toBe(402)
    expect(receiptOf(answer)).toMatchObject({ success: false, errorReason: 'settlement_pending', amount: '20000' })
  }
  await stand.seller.kill('SIGTERM')
  await stand.seller.start()
  await stand.billing.start()
  await until(async () => (await stand.payments()).slice(0, 4).every(({ state }) => state === 'settled'))
  expect(await sellerHas()).toBe(had + 80_000n)
}, 90_000)

it('a 503 "Nothing was run or charged" leaves the authorization usable, even if billing reserved it', async () => {
  const [payment, before] = [await sign(url), await stand.runs()]
  losing = true
  const refused = await fetch(`${url}?charge=$0.02`, payment)
  losing = false
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ message: expect.stringContaining('Nothing was run or charged') })
  expect(await stand.runs()).toBe(before)
  let answer = await fetch(`${url}?charge=$0.02`, payment)
  while (answer.status === 503) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    answer = await fetch(`${url}?charge=$0.02`, payment)
  }
  expect(answer.status).toBe(200)
  expect(receiptOf(answer)).toMatchObject({ success: true, amount: '20000' })
  expect((await fetch(`${url}?charge=$0.02`, payment)).status).toBe(402)
  expect(await stand.runs()).toBe(before + 1)
})

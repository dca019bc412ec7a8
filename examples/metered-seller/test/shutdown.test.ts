import { once } from 'node:events'
import { connect } from 'node:net'
import { balanceOf, buyer, receiptOf } from './buyer.js'
import { type Stand, startStand, stores } from './stand.js'

const { pay, sign } = buyer('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')
let stand: Stand

beforeAll(async () => {
  stand = await startStand(stores()[0]!)
}, 120_000)
afterAll(() => stand?.stop(), 30_000)

it('a seller stopped by SIGTERM finishes paid requests, even if an idle client keeps a connection open', async () => {
  const { url } = stand.seller
  const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)
  const [had, before] = [await sellerHas(), await stand.runs()]
  const silent = connect(Number(new URL(url).port), '127.0.0.1')
  await once(silent, 'connect')
  const control = new AbortController()
  const aborted = fetch(`${url}/metered?slowMs=300`, { ...(await sign(`${url}/metered`)), signal: control.signal })
  const answer = pay(`${url}/metered?charge=$0.02&slowMs=1500`)
  while ((await stand.runs()) < before + 2) await new Promise((resolve) => setTimeout(resolve, 20))
  control.abort()
  await expect(aborted).rejects.toThrow()
  const ended = stand.seller.kill('SIGTERM')
  await once(silent, 'close')
  expect(receiptOf(await answer)).toMatchObject({ success: true, amount: '20000' })
  await ended
  // The buyer that disconnected pays the maximum, as charge.partial says.
  expect((await sellerHas()) - had).toBe(120_000n)
})

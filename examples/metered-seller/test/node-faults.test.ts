import { type FaultProxy, startFaultProxy } from '@upfront/devnet'
import { balanceOf, buyer, receiptOf } from './buyer.js'
import { type Stand, startStand, stores } from './stand.js'

const { pay, sign } = buyer('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')

describe.each(stores())('a faulty node, with billing on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let node: FaultProxy
  let stand: Stand
  let url: string

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    stand = await startStand(store, {
      async nodeUrl(real) {
        node = await startFaultProxy(real)
        return node.url
      },
    })
    url = `${stand.seller.url}/metered`
  }, 120_000)
  afterEach(() => {
    if (store.missing === null) node.faultOf = undefined
  })
  afterAll(async () => {
    await stand?.stop()
    await node?.stop()
  })

  test.each(['eth_getCode', 'eth_call', 'eth_blockNumber'])(
    '429 at %s crashes no process, runs no handler unpaid, and leaks no text to the buyer',
    async (failing) => {
      const [signed, wrong, before] = [await sign(url), await signForAnotherSpender(), await stand.runs()]
      node.faultOf = (method) => (method === failing ? 'http-429' : undefined)
      let served = 0
      for (const payment of [wrong, signed]) {
        const response = await fetch(`${url}?charge=$0.03`, payment)
        if (response.status === 200) served += 1
        else expect([402, 503]).toContain(response.status)
        expect(await response.text()).not.toMatch(new RegExp(`slow down|viem|Error:|${node.url}`))
      }
      expect((await stand.runs()) - before).toBe(served)
      node.faultOf = undefined
      await untilServed()
      expect(stand.billing.isRunning).toBe(true)
    },
  )

  test('a node that accepts a transaction and drops the connection causes one transaction and one transfer', async () => {
    const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)
    await untilServed()
    const [had, sent] = [await sellerHas(), new Set(node.sent).size]
    node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset-after' : undefined)
    const response = await pay(`${url}?charge=$0.03`)
    expect(receiptOf(response)).toMatchObject({ success: true, amount: '30000' })
    expect((await sellerHas()) - had).toBe(30_000n)
    expect(new Set(node.sent).size).toBe(sent + 1)
  })

  /** After some failures the adapter's circuit is open, and it calls billing only now and then. */
  async function untilServed() {
    while ((await pay(`${url}?charge=1000`)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 200))
  }

  /** @x402/evm returns early for it, while a request that the node refuses is still pending and awaited by no one. */
  async function signForAnotherSpender() {
    const { headers } = await sign(url)
    const payload = JSON.parse(Buffer.from(headers['PAYMENT-SIGNATURE'], 'base64').toString())
    payload.payload.permit2Authorization.spender = stand.devnet.accounts.seller.address
    return { headers: { 'PAYMENT-SIGNATURE': Buffer.from(JSON.stringify(payload)).toString('base64') } }
  }
})

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DEVNET_ROLES, type Devnet, startDevnet } from '@upfront/devnet'
import { type Hex, parseTransaction } from 'viem'
import { runBilling } from './support/billing.js'
import { SELLER } from './support/buyer.js'
import { rpc } from './support/on-chain.js'
import { type RunningBilling, usdcBalance } from './support/stand.js'
import { oneStore } from './support/stores.js'

const PAYMENTS = 12
const SEND = 'eth_sendRawTransaction'

interface Call {
  id: number
  method: string
  params: unknown[]
}

/** A public node that processes the calls of a batch in reverse, and rejects transactions that leave a nonce gap. */
class ShufflingNode {
  /** Raw transactions in the order in which the node processed them. */
  readonly sent: string[] = []
  refused = 0
  readonly #server: Server
  readonly #target: string

  constructor(target: string) {
    this.#target = target
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
      const answers = new Map<number, unknown>()
      for (const call of [body].flat().reverse()) answers.set(call.id, await this.#answer(call))
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(Array.isArray(body) ? body.map(({ id }) => answers.get(id)) : answers.get(body.id)))
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #answer(call: Call): Promise<unknown> {
    if (call.method === SEND) {
      const raw = call.params[0] as Hex
      this.sent.push(raw)
      const { address } = DEVNET_ROLES.facilitators[0]
      const next = Number(await rpc(this.#target, 'eth_getTransactionCount', [address, 'pending']))
      if ((parseTransaction(raw).nonce ?? 0) > next) {
        this.refused += 1
        return { jsonrpc: '2.0', id: call.id, error: { code: -32000, message: 'nonce too high' } }
      }
    }
    const headers = { 'content-type': 'application/json' }
    return (await fetch(this.#target, { method: 'POST', headers, body: JSON.stringify(call) })).json()
  }
}

describe.each(oneStore())('a node that reorders a batch and rejects nonce gaps, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let node: ShufflingNode
  let billing: RunningBilling

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    devnet = await startDevnet()
    node = new ShufflingNode(devnet.rpcUrl)
    billing = await runBilling(await node.listen(), { recoveryMs: '300', ...(await store.variables()) })
  })
  afterAll(async () => {
    await billing?.close()
    node?.close()
    await devnet?.stop()
    await store.stop()
  })

  test('gets rejected transactions again unchanged, and every payment settles once', async () => {
    const before = await usdcBalance(devnet, SELLER)
    const ids = await Promise.all(Array.from({ length: PAYMENTS }, async () => (await billing.authorizeNew()).id))
    const charged = await Promise.all(ids.map((id) => billing.charge(id, '700')))
    expect(charged.map(({ payment }) => payment.state)).toEqual(ids.map(() => 'settled'))
    expect(node.refused).toBeGreaterThan(0)
    expect(node.sent.length).toBeGreaterThan(PAYMENTS)
    expect(new Set(node.sent).size).toBe(PAYMENTS)
    expect(await usdcBalance(devnet, SELLER)).toBe(before + 700n * BigInt(PAYMENTS))
  })
})

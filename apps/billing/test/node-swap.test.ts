import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Devnet, type FaultProxy, startDevnet, startFaultProxy } from '@upfront/devnet'
import { runBilling } from './support/billing.js'
import { sign } from './support/buyer.js'
import type { RunningBilling } from './support/stand.js'
import { until } from './support/until.js'

/** A node of another chain that answers every request with a success. */
async function startStranger(): Promise<{ url: string; asked: string[]; server: Server }> {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const answer = ({ method, id }: { method: string; id: number }) => {
      asked.push(method)
      return { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : `0x${'f'.repeat(64)}` }
    }
    const message = JSON.parse(body)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Array.isArray(message) ? message.map(answer) : answer(message)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server }
}

describe('a node that is replaced by one of another chain', () => {
  let devnet: Devnet
  let node: FaultProxy
  let billing: RunningBilling
  let stranger: Awaited<ReturnType<typeof startStranger>>

  beforeAll(async () => {
    devnet = await startDevnet()
    node = await startFaultProxy(devnet.rpcUrl)
    stranger = await startStranger()
    billing = await runBilling(node.url, { recoveryMs: '200' })
  })
  afterAll(async () => {
    await billing?.close()
    await node?.stop()
    await devnet?.stop()
    stranger?.server.close()
    stranger?.server.closeAllConnections()
  })

  test('makes requests answer 503 and gets no transaction; charges settle once the right node is back', async () => {
    const charged = await billing.authorizeNew()
    const payload = await sign()
    node.target = stranger.url
    for (const path of ['/verify', '/settle']) {
      const body = { x402Version: 2, paymentPayload: payload, paymentRequirements: payload.accepted }
      expect(await billing.send(path, { body })).toMatchObject({
        status: 503,
        body: { error: { code: 'unavailable' } },
      })
    }
    const { payment } = await billing.charge(charged.id, '42', { waitMilliseconds: 500 })
    expect(payment.state).toBe('charging')
    expect(stranger.asked).toContain('eth_chainId')
    expect(stranger.asked).not.toContain('eth_sendRawTransaction')
    node.target = devnet.rpcUrl
    await until(async () => (await billing.payment(charged.id)).state === 'settled')
    expect(await billing.payment(charged.id)).toMatchObject({ state: 'settled', charge: 42n })
    expect((await billing.verify(payload)).body).toMatchObject({ isValid: true })
  })

  test('is refused at start', async () => {
    await expect(runBilling(stranger.url)).rejects.toThrow('CHAINS["eip155:31337"].rpcUrl: its node serves chain 1')
  })
})

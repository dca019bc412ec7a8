import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { usdcAbi } from '@upfront/devnet'
import { DEFAULT_PRICE_LIST } from '@upfront/receipt'
import { x402Client } from '@x402/core/client'
import type { PaymentPayload, PaymentRequired, SettleResponse } from '@x402/core/types'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { encodeFunctionData, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { startGateway } from './gateway-process.js'
import { type PaidStand, startPaidStand } from './paid-stand.js'

const PAYMENT = 'x402/payment'
const PAYMENT_RESPONSE = 'x402/payment-response'

let stand: PaidStand
let agent: Client
const clients: Client[] = []

beforeAll(async () => {
  stand = await startPaidStand({ LIMITS: { calls: 20 } })
  agent = await connect(stand.gateway.url)
}, 120_000)
afterAll(async () => {
  for (const client of clients) await client.close()
  await stand?.stop()
})

async function connect(url: string, path = '/mcp'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(path, url)) as Transport)
  clients.push(client)
  return client
}

async function call(name: string, given: Record<string, unknown>, payment?: unknown, client = agent) {
  const meta = payment === undefined ? {} : { _meta: { [PAYMENT]: payment } }
  const result = (await client.callTool({ name, arguments: given, ...meta })) as CallToolResult
  const [first] = result.content
  if (first?.type !== 'text') throw new Error('expected a text')
  return { result, answer: JSON.parse(first.text) }
}

function sign(required: unknown, privateKey: Hex = stand.devnet.accounts.buyer.privateKey): Promise<PaymentPayload> {
  const client = new x402Client()
    .register('eip155:31337', new UptoEvmScheme(privateKeyToAccount(privateKey)))
    .setSpendControls({ allowedAssets: true })
  return client.createPaymentPayload(required as PaymentRequired)
}

const transfer = () => ({
  from: stand.devnet.accounts.buyer.address,
  to: stand.devnet.contracts.usdc,
  data: encodeFunctionData({
    abi: usdcAbi,
    functionName: 'transfer',
    args: [stand.devnet.accounts.seller.address, 25n],
  }),
})
const earned = () => stand.usdcOf(stand.devnet.accounts.seller.address)

it('lists its tools in less than 4,000 characters', async () => {
  const { tools } = await agent.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['preview', 'simulate', 'price'])
  expect(tools.every(({ outputSchema }) => outputSchema !== undefined)).toBe(true)
  // An agent always has them in its context: four characters are about a token.
  expect(JSON.stringify(tools).length).toBeLessThan(4_000)
  expect(agent.getServerVersion()).toMatchObject({ name: 'upfront' })
  expect(agent.getInstructions()).toContain('eip155:31337')
})

it('works as docs/agents.md describes: configured, free and paid', async () => {
  const page = readFileSync(new URL('../../../docs/agents.md', import.meta.url), 'utf8')
  const [, configuration] = /```json\n([\s\S]*?)```/.exec(page)!
  const { type, url } = JSON.parse(configuration!).mcpServers.upfront
  expect(type).toBe('http')
  const client = await connect(stand.gateway.url, new URL(url).pathname)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name))

  const [, message] = /-d '(\{[\s\S]*?\})'/.exec(page)!
  const { params } = JSON.parse(message!)
  const free = await call(params.name, params.arguments, undefined, client)
  expect(free.answer).toMatchObject({ status: 'success' })
  expect(free.answer.charge).toBeUndefined()

  const [, asked] = /with `("paid": true)`/.exec(page)!
  const offer = await client.callTool({
    name: params.name,
    arguments: { ...params.arguments, ...JSON.parse(`{${asked}}`) },
  })
  expect(offer).toMatchObject({ isError: true, structuredContent: { x402Version: 2 } })
  const [payment, charged] = [...page.matchAll(/`_meta\["([^"]+)"\]`/g)].map(([, key]) => key!)
  const bought = await client.callTool({ ...params, _meta: { [payment!]: await sign(offer.structuredContent) } })
  expect(bought.isError).toBeUndefined()
  expect(bought._meta?.[charged!]).toMatchObject({ success: true, amount: expect.stringMatching(/^[1-9]\d*$/) })
})

describe('MCP tools without a payment', () => {
  it('preview a call', async () => {
    const { result, answer } = await call('preview', transfer())
    expect(result.isError).toBeUndefined()
    const changes = [{ amount: '-25' }, { amount: '25' }]
    expect(answer).toMatchObject({ status: 'success', changes, block: { state: 'latest' } })
    expect(answer.charge).toBeUndefined()
  })

  it('simulate blocks', async () => {
    const { data: input, ...parties } = transfer()
    const { answer } = await call('simulate', {
      blockStateCalls: [{ calls: [{ ...parties, input }] }],
      block: 'latest',
    })
    expect(answer.result[0].calls[0].status).toBe('0x1')
    expect(answer.result[0]).not.toHaveProperty('logsBloom')
  })

  it('state the free limits, the offer and the charge for a given usage (price)', async () => {
    const { answer } = await call('price', { gas: 2_000_000, accounts: 100, slots: 900 })
    expect(answer).toMatchObject({
      chain: 'eip155:31337',
      free: { gas: 50_000_000, callsPerSecond: null },
      paid: { gas: 250_000_000, charge: '$0.0062', priceList: DEFAULT_PRICE_LIST, offer: { x402Version: 2 } },
    })
    expect((await call('price', { gas: 10 ** 12 })).answer.paid.charge).toBe('$0.1')
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['preview', { to: 'bob' }, 'to: expected an address'],
    ['preview', { to: 1 }, 'to: expected an address'],
    ['preview', { to: `0x${'11'.repeat(20)}`, gass: '1' }, '"gass": not known'],
    ['simulate', { blockStateCalls: 'all' }, 'blockStateCalls'],
    ['simulate', { blockStateCalls: [{ calls: Array(21).fill({}) }] }, '20'],
    ['price', { gas: -1 }, 'gas: expected a whole number'],
  ])('%s rejects an invalid argument and names the field', async (name, given, problem) => {
    const { result, answer } = await call(name, given)
    expect(result.isError).toBe(true)
    expect(answer.error.message).toContain(problem)
  })

  it('reject unknown tools', async () => {
    await expect(call('transfer', {})).rejects.toThrow('no such tool')
  })
})

describe('MCP tools with a payment', () => {
  it('return an offer, accept the payment and state the charge', async () => {
    const before = await earned()
    const offer = await call('preview', { ...transfer(), paid: true })
    expect(offer.result).toMatchObject({
      isError: true,
      structuredContent: { x402Version: 2, resource: { url: 'mcp://tool/preview' }, accepts: [{ scheme: 'upto' }] },
    })
    expect(offer.answer).toEqual(offer.result.structuredContent)
    expect(offer.result.content[1]).toMatchObject({ text: expect.stringContaining('_meta["x402/payment"]') })

    const payment = await sign(offer.result.structuredContent)
    const { result, answer } = await call('preview', transfer(), payment)
    expect(result.isError).toBeUndefined()
    expect(answer).toMatchObject({ status: 'success', charge: { amount: expect.any(String) } })
    const receipt = result._meta?.[PAYMENT_RESPONSE] as SettleResponse
    expect(receipt).toMatchObject({ success: true, amount: answer.charge.amount })
    expect((await earned()) - before).toBe(BigInt(answer.charge.amount))

    const again = await call('preview', transfer(), payment)
    expect(again.result).toMatchObject({ isError: true, structuredContent: { x402Version: 2 } })
    expect((await earned()) - before).toBe(BigInt(answer.charge.amount))
  })

  it('require a payment beyond the free rate limit', async () => {
    const gateway = await stand.startGateway({ LIMITS: { callsPerSecond: 3 } })
    try {
      const client = await connect(gateway.url)
      const simulation = { blockStateCalls: [{ calls: [{ to: `0x${'11'.repeat(20)}` }] }] }
      let refused: Awaited<ReturnType<typeof call>> | undefined
      // A slow machine may take more than a second for five.
      for (let round = 0; refused === undefined && round < 5; round += 1) {
        // Calls far beyond the limit fail.
        const answers = [1, 2, 3, 4, 5].map(() =>
          call('simulate', simulation, undefined, client).catch(() => undefined),
        )
        refused = (await Promise.all(answers)).find((answer) => answer?.result.isError)
        await sleep(1_000)
      }
      const { result, answer } = await call(
        'simulate',
        simulation,
        await sign(refused?.result.structuredContent),
        client,
      )
      expect(answer).toMatchObject({ result: [{ calls: [{ status: '0x1' }] }], charge: { amount: expect.any(String) } })
      expect(result._meta?.[PAYMENT_RESPONSE]).toMatchObject({ success: true, amount: answer.charge.amount })
    } finally {
      await gateway.stop()
    }
  })

  it('answer 429 to other messages beyond the limit and to calls far beyond it', async () => {
    const gateway = await stand.startGateway({ LIMITS: { callsPerSecond: 3 } })
    const message = (method: string, params = {}) =>
      fetch(`${gateway.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      }).then(({ status }) => status)
    try {
      expect(await Promise.all(Array.from({ length: 40 }, () => message('tools/list')))).toContain(429)
      const params = { name: 'simulate', arguments: { blockStateCalls: [] } }
      expect(await Promise.all(Array.from({ length: 40 }, () => message('tools/call', params)))).toContain(429)
    } finally {
      await gateway.stop()
    }
  })

  it('refuse `paid` of another type than boolean', async () => {
    const { result, answer } = await call('preview', { ...transfer(), paid: 'true' })
    expect([result.isError, answer.error]).toEqual([
      true,
      { code: -32602, message: 'paid: expected true or false, got "true"' },
    ])
  })

  it('charge nothing if the simulation is rejected', async () => {
    const { result: offer } = await call('simulate', { blockStateCalls: [], paid: true })
    const { result, answer } = await call('simulate', { blockStateCalls: 'all' }, await sign(offer.structuredContent))
    expect(result.isError).toBe(true)
    expect(answer).toMatchObject({ error: { code: -32602 } })
    expect(result._meta?.[PAYMENT_RESPONSE]).toMatchObject({ amount: '0' })
  })

  it('name the missing Permit2 approval', async () => {
    const { result: offer } = await call('preview', { ...transfer(), paid: true })
    const { privateKey } = stand.devnet.accounts.unapprovedBuyer
    const { result } = await call('preview', transfer(), await sign(offer.structuredContent, privateKey))
    expect(result).toMatchObject({
      isError: true,
      structuredContent: {
        error: 'permit2_allowance_required',
        approve: [{ token: stand.devnet.contracts.usdc, spender: stand.devnet.contracts.permit2 }],
      },
    })
  })

  it.each<[string, unknown]>([
    ['a word', 'paid'],
    ['a list', []],
    ['nothing in it', {}],
    ['too much in it', { x402Version: 2, payload: 'x'.repeat(20_000) }],
  ])('reject a payment that is invalid: %s', async (_what, payment) => {
    const { result } = await call('preview', transfer(), payment)
    expect(result).toMatchObject({ isError: true, structuredContent: { error: 'invalid_payload' } })
  })
})

describe('MCP over HTTP', () => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const post = (body: string, more: Record<string, string> = {}) =>
    fetch(`${stand.gateway.url}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body })

  it.each<[string, string, Record<string, string>, number]>([
    ['a message', JSON.stringify(ping), {}, 200],
    ['a notification', JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), {}, 202],
    ['a batch', JSON.stringify([ping, ping]), {}, 400],
    ['no JSON', '{', {}, 400],
    ['no message', '{}', {}, 400],
    ['invalid params', JSON.stringify({ ...ping, method: 'tools/call', params: { name: 5 } }), {}, 200],
    ['a deep message', '['.repeat(100_000), {}, 400],
    ['a long message', ' '.repeat(5_000_000), {}, 413],
    ['another type', JSON.stringify(ping), { 'content-type': 'text/plain' }, 415],
    ['a client that takes no JSON', JSON.stringify(ping), { accept: 'text/html' }, 406],
    ['an unknown protocol version', JSON.stringify(ping), { 'mcp-protocol-version': '1999-01-01' }, 400],
    ['a web page that may not call', JSON.stringify(ping), { origin: 'https://example.org' }, 403],
  ])('answers %s with the right status', async (_what, body, more, status) => {
    const response = await post(body, more)
    expect(response.status).toBe(status)
    expect(response.headers.get('mcp-session-id')).toBeNull()
  })

  it('tells clients of the old SSE transport to POST to /mcp', async () => {
    for (const path of ['mcp', 'sse']) {
      const response = await fetch(`${stand.gateway.url}/${path}`, { headers: { accept: 'text/event-stream' } })
      expect(response.status).toBe(405)
      expect(await response.text()).toContain('by POST to /mcp')
    }
  })

  it('reads media types in any case', async () => {
    const response = await post(JSON.stringify(ping), { accept: 'Application/JSON, Text/Event-Stream' })
    expect(response.status).toBe(200)
  })

  it.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])('answers 405 to %s', async (method) => {
    const response = await fetch(`${stand.gateway.url}/mcp`, { method, headers: { accept: headers.accept } })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
  })
})

it('serves MCP tools for free if the gateway sells nothing', async () => {
  const gateway = await startGateway({ UPSTREAM_RPC_URL: stand.devnet.rpcUrl, LOG_LEVEL: 'warn' })
  try {
    const client = await connect(gateway.url)
    expect((await call('preview', transfer(), undefined, client)).answer).toMatchObject({ status: 'success' })
    expect((await call('price', {}, undefined, client)).answer).toMatchObject({ paid: null })
    const { result, answer } = await call('preview', { ...transfer(), paid: true }, undefined, client)
    expect([result.isError, answer.error.message]).toEqual([true, expect.stringContaining('sells nothing')])
  } finally {
    await gateway.stop()
  }
})

import { usdcAbi } from '@upfront/devnet'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { encodeFunctionData } from 'viem'
import type { ChargeStatement } from '../src/paid/metered-charge.js'
import type { Preview } from '../src/paid/preview.controller.js'
import { DEFAULT_PRICE_LIST, meter, type PriceList } from '../src/paid/price-list.js'
import { type PaidStand, startPaidStand } from './paid-stand.js'

let stand: PaidStand
let sellerHad: bigint

beforeAll(async () => {
  stand = await startPaidStand({ FREE_GAS_CAP: '100000', FREE_RATE_LIMIT: '1' })
}, 120_000)
afterAll(() => stand?.stop(), 60_000)
beforeEach(async () => {
  sellerHad = await stand.usdcOf(seller())
})

const seller = () => stand.devnet.accounts.seller.address
const buyer = () => stand.devnet.accounts.buyer.address
const earned = async () => (await stand.usdcOf(seller())) - sellerHad
const preview = (query: Record<string, string>) =>
  stand.pay(`${stand.gateway.url}/v1/preview?${new URLSearchParams(query)}`)
const simulate = (body: unknown, query = '') =>
  stand.pay(`${stand.gateway.url}/v1/simulate${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const receipt = (response: Response) => decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
const recomputed = ({ usage, priceList, maximum }: ChargeStatement) =>
  meter({ ...usage, gas: BigInt(usage.gas) }, priceList as PriceList, 6, BigInt(maximum)).toString()
const transferOfUsdc = (amount: bigint) =>
  encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args: [seller(), amount] })
const call = (input: string, gas?: string) => ({
  ...{ jsonrpc: '2.0', id: 'paid', method: 'eth_simulateV1' },
  params: [
    { blockStateCalls: [{ calls: [{ from: buyer(), to: stand.devnet.contracts.usdc, input, ...(gas && { gas }) }] }] },
    'pending',
  ],
})

describe('an unpaid request', () => {
  it.each([
    ['GET', '/v1/preview'],
    ['HEAD', '/v1/preview?to=0x0000000000000000000000000000000000000001'],
    ['GET', '/v1/Preview/'],
    ['POST', '/v1/simulate'],
  ])('%s %s runs nothing', async (method, path) => {
    const response = await fetch(stand.gateway.url + path, { method })
    expect([402, 404]).toContain(response.status)
    expect(response.headers.get('payment-response')).toBeNull()
  })
})

describe('GET /v1/preview', () => {
  it('says what changes hands, on which block, and what it cost', async () => {
    const { usdc } = stand.devnet.contracts
    const response = await preview({ from: buyer(), to: usdc, data: transferOfUsdc(25n) })
    expect(response.status).toBe(200)
    const answer = (await response.json()) as Preview
    const token = usdc.toLowerCase()
    expect(answer).toMatchObject({
      status: 'success',
      revertReason: null,
      changes: [
        { address: buyer().toLowerCase(), type: 'erc20', token, amount: '-25' },
        { address: seller().toLowerCase(), type: 'erc20', token, amount: '25' },
      ],
      block: { state: 'latest', parentHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
    })
    expect(answer.charge.priceList).toEqual(DEFAULT_PRICE_LIST)
    expect(answer.charge.amount).toBe(recomputed(answer.charge))
    expect(receipt(response)).toMatchObject({ success: true, amount: answer.charge.amount })
    expect(await earned()).toBe(BigInt(answer.charge.amount))
  })

  it('shows the native currency, in wei given as decimal or hex', async () => {
    for (const value of ['1000', '0x3e8']) {
      const answer = (await (await preview({ from: buyer(), to: seller(), value })).json()) as Preview
      expect(answer.changes).toEqual([
        { address: buyer().toLowerCase(), type: 'native', amount: '-1000' },
        { address: seller().toLowerCase(), type: 'native', amount: '1000' },
      ])
    }
  })

  it('charges a reverted call as a simulation, with its reason', async () => {
    const data = transferOfUsdc(10n ** 30n)
    const answer = (await (await preview({ from: buyer(), to: stand.devnet.contracts.usdc, data })).json()) as Preview
    expect(answer).toMatchObject({ status: 'reverted', changes: [], revertReason: expect.stringContaining('revert') })
    expect(await earned()).toBe(BigInt(answer.charge.amount))
  })

  it.each([
    [{ to: 'bob' }, 'to: expected an address'],
    [{ to: '0x0000000000000000000000000000000000000001', value: '-1' }, 'value: expected an amount in wei'],
    [{ to: '0x0000000000000000000000000000000000000001', data: '0x1' }, 'data: expected hex bytes'],
    [{ to: '0x0000000000000000000000000000000000000001', gass: '1' }, '"gass": not known'],
    [{}, 'to: is missing'],
  ])('refuses %j with 400, for nothing', async (query, problem) => {
    const response = await preview(query as unknown as Record<string, string>)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(problem.replaceAll('"', '\\"'))
    expect(receipt(response)).toMatchObject({ amount: '0' })
    expect(await earned()).toBe(0n)
  })
})

describe('POST /v1/simulate', () => {
  it('answers as POST / does, beyond its gas cap, and states the charge', async () => {
    const response = await simulate(call(transferOfUsdc(1n), '0x1312d00'))
    const answer = (await response.json()) as {
      id: string
      result: { calls: { status: string; gasUsed: string }[] }[]
      charge: ChargeStatement
    }
    expect(answer.id).toBe('paid')
    expect(answer.result[0]?.calls[0]?.status).toBe('0x1')
    expect(answer.charge.usage.gas).toBe(BigInt(answer.result[0]?.calls[0]?.gasUsed ?? 0).toString())
    expect(answer.charge.amount).toBe(recomputed(answer.charge))
    expect(await earned()).toBe(BigInt(answer.charge.amount))
  })

  it.each<[string, unknown, number]>([
    ['bad params', { jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [{}, 'pending'] }, -32602],
    ['another method', { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [] }, -32601],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [] }], -32600],
  ])('refuses %s with a JSON-RPC error, for nothing', async (_what, body, code) => {
    const response = await simulate(body)
    expect(await response.json()).toMatchObject({ error: { code } })
    expect(receipt(response)).toMatchObject({ amount: '0' })
    expect(await earned()).toBe(0n)
  })
})

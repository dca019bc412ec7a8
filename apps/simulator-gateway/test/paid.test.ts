import { setTimeout as sleep } from 'node:timers/promises'
import { usdcAbi } from '@upfront/devnet'
import {
  type ChargeStatement,
  DEFAULT_PRICE_LIST,
  meter,
  type Preview as PreviewAnswer,
  type PriceList,
} from '@upfront/receipt'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { createPublicClient, encodeFunctionData, http } from 'viem'
import { foundry } from 'viem/chains'
import { assemble } from './assemble.js'
import { type PaidStand, startPaidStand } from './paid-stand.js'

interface Answer {
  id: unknown
  result?: { calls: { status: string; gasUsed: string }[] }[]
  charge?: ChargeStatement
  error?: { code: number; message: string }
}

type Preview = PreviewAnswer & { charge: ChargeStatement }

const BURNER = '0xc000000000000000000000000000000000000000'
/** Options that take more runs than the first. */
const DEAREST = { outcome: true, gasLimits: true, waiting: [{ from: BURNER, to: BURNER }] }

const receipt = (response: Response) => decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
const recomputed = ({ usage, priceList, maximum }: ChargeStatement) =>
  meter({ ...usage, gas: BigInt(usage.gas) }, priceList as PriceList, 6, BigInt(maximum)).toString()
const chargesOf = (answers: Answer[]) => answers.flatMap(({ charge }) => (charge === undefined ? [] : [charge]))
const sumOf = (charges: ChargeStatement[]) => charges.reduce((sum, { amount }) => sum + BigInt(amount), 0n)

describe('paid routes', () => {
  let stand: PaidStand
  let sellerHad: bigint

  beforeAll(async () => {
    stand = await startPaidStand({ LIMITS: { gas: 100_000, callsPerSecond: 1 } })
  }, 120_000)
  afterAll(() => stand?.stop())
  beforeEach(async () => {
    sellerHad = await stand.usdcOf(seller())
  })

  const seller = () => stand.devnet.accounts.seller.address
  const buyer = () => stand.devnet.accounts.buyer.address
  const earned = async () => (await stand.usdcOf(seller())) - sellerHad
  const preview = (query: Record<string, string>) =>
    stand.pay(`${stand.gateway.url}/v1/preview?${new URLSearchParams(query)}`)
  const simulate = (body: unknown, url = stand.gateway.url, signal?: AbortSignal) =>
    stand.pay(`${url}/v1/simulate`, {
      method: 'POST',
      ...(signal === undefined ? {} : { signal }),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const transferOfUsdc = (amount: bigint) =>
    encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args: [seller(), amount] })
  const call = (input: string, { gas, id = 'paid' }: { gas?: string; id?: unknown } = {}) => ({
    ...{ jsonrpc: '2.0', id, method: 'eth_simulateV1' },
    params: [
      {
        blockStateCalls: [{ calls: [{ from: buyer(), to: stand.devnet.contracts.usdc, input, ...(gas && { gas }) }] }],
      },
      'pending',
    ],
  })
  const inspected = (input: string, more: object, call: object = {}, stateOverrides: object = {}) => {
    const calls = [{ from: buyer(), to: stand.devnet.contracts.usdc, input, ...call }]
    const params = [{ blockStateCalls: [{ stateOverrides, calls }], ...more }, 'latest']
    return { jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params }
  }
  const notification = () => ({ ...call(transferOfUsdc(1n)), id: undefined })

  it('charge the base price if the buyer disconnects before the answer, as the offer says', async () => {
    const offer = await fetch(`${stand.gateway.url}/v1/simulate`, { method: 'POST' })
    expect(await offer.json()).toMatchObject({
      charge: { partial: DEFAULT_PRICE_LIST.base, failure: 'nothing', invalid: 'refuse' },
      priceList: DEFAULT_PRICE_LIST,
      priceListHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    const endless = '0xc000000000000000000000000000000000000000'
    const stateOverrides = { [endless]: { code: assemble('@again >again JUMP') } }
    const calls = [{ to: endless, gas: '0x2faf080' }]
    const params = [{ blockStateCalls: [{ stateOverrides, calls }] }, 'pending']
    const body = Array.from({ length: 20 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_simulateV1', params }))
    const leaves = async () => {
      sellerHad = await stand.usdcOf(seller())
      const simulated = await stand.gateway.metric('upfront_simulated_blocks_total')
      const control = new AbortController()
      const answer = simulate(body, stand.gateway.url, control.signal).then(
        () => false,
        () => true,
      )
      while ((await stand.gateway.metric('upfront_simulated_blocks_total')) === simulated) await sleep(10)
      control.abort()
      return answer
    }
    // On a busy machine the answer may come first: it is paid for, and the buyer asks again.
    let hasLeft = false
    for (let attempt = 0; attempt < 10 && !hasLeft; attempt += 1) hasLeft = await leaves()
    expect(hasLeft).toBe(true)
    while ((await earned()) === 0n) await sleep(50)
    expect(await earned()).toBe(1_000n)
  })

  it("POST /ethereum/v1/simulate charges the same and answers in geth's shapes", async () => {
    const tooMuch = transferOfUsdc(2n ** 200n)
    const shapes = await Promise.all(
      ['', '/ethereum'].map(async (path) => {
        const response = await simulate(call(tooMuch), stand.gateway.url + path)
        expect(response.status).toBe(200)
        const { result, charge } = (await response.json()) as Answer & { result: { calls: { error: unknown }[] }[] }
        expect(charge?.amount).toBe(receipt(response).amount)
        return result[0]?.calls[0]?.error
      }),
    )
    expect(shapes).toEqual([expect.any(String), expect.objectContaining({ code: 3, message: expect.any(String) })])
  })

  describe('an unpaid request', () => {
    it.each([
      ['GET', '/v1/preview'],
      ['HEAD', '/v1/preview?to=0x0000000000000000000000000000000000000001'],
      ['GET', '/v1/Preview/'],
      ['POST', '/v1/simulate'],
      ['POST', '/ethereum/v1/simulate'],
    ])('%s %s runs nothing', async (method, path) => {
      const response = await fetch(stand.gateway.url + path, { method })
      expect([402, 404]).toContain(response.status)
      expect(response.headers.get('payment-response')).toBeNull()
    })
  })

  describe('GET /v1/preview', () => {
    it('returns the asset changes, the block and the charge', async () => {
      const { usdc } = stand.devnet.contracts
      const response = await preview({ from: buyer(), to: usdc, data: transferOfUsdc(25n) })
      expect(response.status).toBe(200)
      const answer = (await response.json()) as Preview
      const token = usdc.toLowerCase()
      const confirmed = { symbol: 'USDC', decimals: 6, confirmation: 'agrees' }
      expect(answer).toMatchObject({
        status: 'success',
        revertReason: null,
        changes: [
          { address: buyer().toLowerCase(), type: 'erc20', token, amount: '-25', ...confirmed },
          { address: seller().toLowerCase(), type: 'erc20', token, amount: '25', ...confirmed },
        ],
        failedAt: null,
        moreChanges: 0,
        block: { state: 'latest', parentHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
      })
      expect(answer.charge.priceList).toEqual(DEFAULT_PRICE_LIST)
      expect(answer.charge.amount).toBe(recomputed(answer.charge))
      expect(receipt(response)).toMatchObject({ success: true, amount: answer.charge.amount })
      expect(await earned()).toBe(BigInt(answer.charge.amount))
    })

    it('returns native transfers in wei for a decimal or hex value', async () => {
      for (const value of ['1000', '0x3e8']) {
        const answer = (await (await preview({ from: buyer(), to: seller(), value })).json()) as Preview
        expect(answer.changes).toEqual([
          { address: buyer().toLowerCase(), type: 'native', amount: '-1000', confirmation: 'agrees' },
          { address: seller().toLowerCase(), type: 'native', amount: '1000', confirmation: 'agrees' },
        ])
      }
    })

    it('charges a reverted call like a simulation, with its reason and the failing frame', async () => {
      const data = transferOfUsdc(10n ** 30n)
      const answer = (await (await preview({ from: buyer(), to: stand.devnet.contracts.usdc, data })).json()) as Preview
      expect(answer).toMatchObject({ status: 'reverted', changes: [], revertReason: expect.stringContaining('revert') })
      const to = stand.devnet.contracts.usdc.toLowerCase()
      expect(answer.failedAt).toMatchObject({
        depth: 0,
        type: 'CALL',
        from: buyer().toLowerCase(),
        to,
        selector: '0xa9059cbb',
      })
      expect(answer.failedAt?.revertReason ?? answer.failedAt?.error).toMatch(/exceed|revert/)
      expect(await earned()).toBe(BigInt(answer.charge.amount))
    })

    it.each([
      [{ to: 'bob' }, 'to: expected an address'],
      [{ to: '0x0000000000000000000000000000000000000001', value: '-1' }, 'value: expected an amount in wei'],
      [{ to: '0x0000000000000000000000000000000000000001', data: '0x1' }, 'data: expected hex bytes'],
      [{ to: '0x0000000000000000000000000000000000000001', gass: '1' }, '"gass": not known'],
      [{}, 'to: is missing'],
    ])('rejects %j with 400 and charges nothing', async (query, problem) => {
      const response = await preview(query as unknown as Record<string, string>)
      expect(response.status).toBe(400)
      expect(await response.text()).toContain(problem.replaceAll('"', '\\"'))
      expect(receipt(response)).toMatchObject({ amount: '0' })
      expect(await earned()).toBe(0n)
    })
  })

  describe('POST /v1/simulate', () => {
    it('answers like POST / with a higher gas limit, and states the charge', async () => {
      const response = await simulate(call(transferOfUsdc(1n), { gas: '0x1312d00' }))
      const answer = (await response.json()) as Answer
      expect(answer.id).toBe('paid')
      expect(answer.result?.[0]?.calls[0]?.status).toBe('0x1')
      const [charge] = chargesOf([answer]) as [ChargeStatement]
      expect(charge.usage.gas).toBe(BigInt(answer.result?.[0]?.calls[0]?.gasUsed ?? 0).toString())
      expect(charge.amount).toBe(recomputed(charge))
      expect(await earned()).toBe(BigInt(charge.amount))
    })

    it.each<[string, unknown, number]>([
      ['bad params', { jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [{}, 'pending'] }, -32602],
      ['no JSON-RPC', { hello: 1 }, -32600],
      ['an empty batch', [], -32600],
      ['a batch that is too long', Array.from({ length: 101 }, () => ({ jsonrpc: '2.0', id: 1 })), -32005],
    ])('rejects %s with a JSON-RPC error and charges nothing', async (_what, body, code) => {
      const response = await simulate(body)
      expect(await response.json()).toMatchObject({ error: { code } })
      expect(receipt(response)).toMatchObject({ amount: '0' })
      expect(await earned()).toBe(0n)
    })

    it('answers a batch entry by entry, and charges the sum of the entries served', async () => {
      const body = [
        call(transferOfUsdc(1n), { id: 1, gas: '0x1312d00' }),
        { jsonrpc: '2.0', id: 2, method: 'eth_simulateV1', params: [{}, 'pending'] },
        call(transferOfUsdc(10n ** 30n), { id: 3 }),
        { jsonrpc: '2.0', id: 4, method: 'eth_sendRawTransaction', params: ['0x'] },
        { jsonrpc: '2.0', id: 5, method: 'eth_chainId' },
        notification(),
        'no request',
      ]
      const response = await simulate(body)
      expect(response.status).toBe(200)
      expect(response.headers.get('upfront-state')).toContain('latest')
      const answers = (await response.json()) as Answer[]
      const [read] = answers.splice(4, 1)
      expect([read?.id, read?.result, read?.charge]).toEqual([5, '0x7a69', undefined])
      expect(answers.map(({ id, result, error }) => [id, result?.[0]?.calls[0]?.status, error?.code])).toEqual([
        [1, '0x1', undefined],
        [2, undefined, -32602],
        [3, '0x0', undefined],
        [4, undefined, -32601],
        [null, undefined, -32600],
      ])
      const charges = chargesOf(answers)
      expect(charges).toHaveLength(2)
      for (const charge of charges) expect(charge.amount).toBe(recomputed(charge))
      expect(receipt(response)).toMatchObject({ success: true, amount: sumOf(charges).toString() })
      expect(await earned()).toBe(sumOf(charges))
    })

    it('serves reads without a payment, within the rate limit of POST /', async () => {
      const read = { jsonrpc: '2.0', id: 1, method: 'eth_chainId' }
      const ask = (body: unknown) =>
        fetch(`${stand.gateway.url}/v1/simulate`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      await sleep(1_100)
      const response = await ask([read, { ...read, method: 'eth_sendRawTransaction', params: ['0x'] }])
      expect(await response.json()).toMatchObject([{ result: '0x7a69' }, { error: { code: -32601 } }])
      expect((await ask(read)).status).toBe(429)
      for (const sold of [call('0x'), [read, call('0x')], [read, notification()], { hello: 1 }, []]) {
        expect((await ask(sold)).status).toBe(402)
      }
    })

    it('counts failing work against the free budget, but not malformed requests', async () => {
      const gateway = await stand.startGateway({ LIMITS: { callsPerSecond: 50, gasPerMinute: 10_000_000 } })
      try {
        const refused = { jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [{}, 'pending'] }
        for (let time = 0; time < 4; time += 1) expect((await simulate(refused, gateway.url)).status).toBe(200)
        const endless = '0xc000000000000000000000000000000000000000'
        const stateOverrides = { [endless]: { code: assemble('@again >again JUMP') } }
        const calls = [
          { to: endless, gas: '0x1312d00' },
          { from: buyer(), to: seller(), nonce: '0xffff', gas: '0x5208' },
        ]
        const blockOverrides = { baseFeePerGas: '0x0' }
        const params = [{ validation: true, blockStateCalls: [{ blockOverrides, stateOverrides, calls }] }, 'pending']
        const inVain = { jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params }
        const served: number[] = []
        do {
          const response = await simulate(inVain, gateway.url)
          expect(receipt(response)).toMatchObject({ amount: '0' })
          served.push(response.status)
          if (response.status === 200) expect(await response.json()).toMatchObject({ error: { code: -38011 } })
          else expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
        } while (served.at(-1) === 200 && served.length < 20)
        expect([served[0], served.at(-1)]).toEqual([200, 429])
        expect((await simulate(call(transferOfUsdc(1n)), gateway.url)).status).toBe(429)
        expect(await earned()).toBe(0n)
      } finally {
        await gateway.stop()
      }
    })

    it('ends the costliest call at what its maximum pays for, and counts gas beyond it as free work', async () => {
      // 4 million gas on top of the base price.
      const list = { ...DEFAULT_PRICE_LIST, version: 'low', perMillionGas: '$0.01', maximum: '$0.041' }
      const gasPerMinute = 20_000_000
      const LIMITS = { callsPerSecond: 50, gasPerMinute }
      const gateway = await stand.startGateway({ PRICE_LIST: JSON.stringify(list), LIMITS })
      try {
        const published = await (await fetch(`${gateway.url}/.well-known/upfront.json`)).json()
        expect(published).toMatchObject({ gasCap: '4000000' })
        const small = (await (await simulate(inspected(transferOfUsdc(1n), DEAREST), gateway.url)).json()) as Answer
        expect(small).toMatchObject({ result: [{ calls: [{ status: '0x1', outcome: { verdict: 'holds' } }] }] })
        expect(small.charge?.amount).toBe(recomputed(small.charge!))
        expect(BigInt(small.charge!.usage.gas)).toBeLessThan(4_000_000n)
        // 40,000 rounds of 26 gas. It fails unless much gas is left, so it takes many runs to find its gas limit.
        const code = assemble(
          '40000 @again 1 SWAP1 SUB DUP1 >again JUMPI GAS 500000 GT >few JUMPI STOP @few 0 0 REVERT',
        )
        const stateOverrides = { [BURNER]: { code } }
        const burn = inspected('0x', DEAREST, { to: BURNER, gas: '0x2dc6c0' }, stateOverrides)
        let executed = 0n
        let refusals = 0
        for (let time = 0; time < 20; time += 1) {
          const response = await simulate(burn, gateway.url)
          expect(receipt(response)).toMatchObject({ amount: '0' })
          if (response.status === 429) continue
          refusals += 1
          const { error } = (await response.json()) as Answer
          const took = /^the runs for this request used (\d+) gas so far, and the signed maximum pays for 4000000:/
          expect(error).toEqual({ code: -32005, message: expect.stringMatching(took) })
          executed += BigInt(took.exec(error?.message ?? '')?.[1] ?? 0)
        }
        // Each ended with the run of a million gas that reached 4; after the minute's 20 million, none was started.
        expect(refusals).toBe(5)
        expect(executed).toBeGreaterThan(BigInt(gasPerMinute))
        expect(executed).toBeLessThan(26_000_000n)
        expect(await earned()).toBe(BigInt(small.charge!.amount))
      } finally {
        await gateway.stop()
      }
    })

    it('counts the gas of a single run beyond the maximum as free work', async () => {
      // The accounts and slots cost more than the maximum, which pays for a million gas.
      const list = { ...DEFAULT_PRICE_LIST, version: 'low', perMillionGas: '$0.01', maximum: '$0.011' }
      const LIMITS = { callsPerSecond: 50, gasPerMinute: 2_000_000 }
      const gateway = await stand.startGateway({
        PRICE_LIST: JSON.stringify({ ...list, perThousandTouched: '$1' }),
        LIMITS,
      })
      try {
        const stateOverrides = {
          [BURNER]: { code: assemble('400 @again DUP1 SLOAD POP 1 SWAP1 SUB DUP1 >again JUMPI STOP') },
        }
        const touch = { ...inspected('0x', {}, { to: BURNER }, stateOverrides), method: 'eth_simulateV1' }
        const charged: (string | undefined)[] = []
        for (let time = 0; time < 5; time += 1) {
          const response = await simulate(touch, gateway.url)
          charged.push(response.status === 429 ? 'refused' : chargesOf([(await response.json()) as Answer])[0]?.amount)
        }
        // 0.9 million gas each, of which 11 thousandths of $0.4 are paid.
        expect(charged).toEqual(['11000', '11000', '11000', 'refused', 'refused'])
        expect(await earned()).toBe(33_000n)
      } finally {
        await gateway.stop()
      }
    })

    it("serves viem's simulateCalls with asset changes, over a fetch that pays", async () => {
      const gateway = await stand.startGateway({})
      try {
        const transport = http(`${gateway.url}/v1/simulate`, { fetchFn: stand.pay })
        const client = createPublicClient({ chain: foundry, transport })
        const { assetChanges, results } = await client.simulateCalls({
          account: buyer(),
          calls: [{ to: stand.devnet.contracts.usdc, data: transferOfUsdc(7_000_000n) }],
          traceAssetChanges: true,
        })
        expect(results.map(({ status }) => status)).toEqual(['success'])
        const moved = assetChanges.map(({ token, value }) => [token.symbol, token.decimals, value.diff])
        expect(moved).toContainEqual(['USDC', 6, -7_000_000n])
        expect(await earned()).toBeGreaterThan(0n)
      } finally {
        await gateway.stop()
      }
    })

    it('charges nothing for a batch if no entry is served', async () => {
      const response = await simulate([{ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [] }])
      expect(await response.json()).toMatchObject([{ id: 1, error: { code: -32602 } }])
      expect(receipt(response)).toMatchObject({ amount: '0' })
      const silent = await simulate([notification()])
      expect([silent.status, await silent.text()]).toEqual([204, ''])
      expect(await earned()).toBe(0n)
    })

    it('serves a batch up to the signed maximum and never charges more', async () => {
      const dear: PriceList = { ...DEFAULT_PRICE_LIST, version: 'dear', base: '$0.04', maximum: '$0.10' }
      const gateway = await stand.startGateway({ PRICE_LIST: JSON.stringify(dear) })
      try {
        const body = [1, 2, 3, 4].map((id) => call(transferOfUsdc(1n), { id }))
        const response = await simulate(body, gateway.url)
        const answers = (await response.json()) as Answer[]
        const amounts = chargesOf(answers).map(({ amount }) => Number(amount))
        expect(amounts).toEqual([expect.any(Number), amounts[0], 100_000 - 2 * (amounts[0] ?? 0)])
        expect(amounts[0]).toBeGreaterThan(40_000)
        expect(answers[3]).toMatchObject({ id: 4, error: { code: -32005 } })
        expect(await earned()).toBe(100_000n)
      } finally {
        await gateway.stop()
      }
    })
  })
})

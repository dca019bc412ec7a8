import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Devnet, OP_GENESIS_FILE, startDevnet, usdcAbi } from '@upfront/devnet'
import { loadRevm } from '@upfront/engine-revm'
import {
  authorizationHash,
  type ChargeStatement,
  decodeReceipt,
  jsonHash,
  type Permit2Authorization,
  type Preview,
  type SignedReceipt,
  signerOf,
  type Verification,
  verify,
} from '@upfront/receipt'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import {
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  isEIP712SignedOffer,
  isEIP712SignedReceipt,
  verifyOfferSignatureEIP712,
  verifyReceiptSignatureEIP712,
} from '@x402/extensions/offer-receipt'
import { encodeFunctionData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import type { GatewayProcess } from './gateway-process.js'
import { type PaidStand, receiptKeysFile, startPaidStand } from './paid-stand.js'

const RECEIPT_KEY = `0x${'42'.repeat(32)}` as const
const signer = privateKeyToAccount(RECEIPT_KEY).address.toLowerCase()
const receiptCommand = fileURLToPath(new URL('../../../packages/receipt/bin/receipt.mjs', import.meta.url))
const ALICE = `0x${'a1'.repeat(20)}`
const BOB = `0x${'b0'.repeat(20)}`

interface Paid {
  charge: ChargeStatement
  receipt: SignedReceipt
}

describe('receipts', () => {
  let stand: PaidStand

  beforeAll(async () => {
    stand = await startPaidStand({ RECEIPT_KEYS_FILE: receiptKeysFile(RECEIPT_KEY) })
  }, 120_000)
  afterAll(() => stand?.stop())

  const call = (id: number, gas = '0x186a0') => ({
    ...{ jsonrpc: '2.0', id, method: 'eth_simulateV1' },
    // The gateway has a separate path for the overrides of a single call: the receipt must cover the JSON as sent.
    params: [
      {
        blockStateCalls: [{ stateOverrides: { [ALICE]: { balance: '0x64' } }, calls: [{ from: ALICE, to: BOB, gas }] }],
      },
      'latest',
    ],
  })
  it("come with x402's own receipt of delivery, signed by the same key", async () => {
    const url = `${stand.gateway.url}/v1/preview?from=${ALICE}&to=${BOB}`
    const response = await stand.pay(url)
    const delivered = extractReceiptFromResponse(response)
    if (delivered === undefined || !isEIP712SignedReceipt(delivered)) throw new Error('there is none')
    const { signer: address, payload } = await verifyReceiptSignatureEIP712(delivered)
    expect(address.toLowerCase()).toBe(signer)
    const { transaction, payer, network } = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
    expect(payload).toMatchObject({ resourceUrl: url, network, payer, transaction })
  })

  it('follow offers signed by the same key, one for each payment that the 402 accepts', async () => {
    const url = `${stand.gateway.url}/v1/preview?to=${BOB}`
    const required = decodePaymentRequiredHeader((await fetch(url)).headers.get('payment-required') ?? '')
    const offers = extractOffersFromPaymentRequired(required)
    expect(offers).toHaveLength(required.accepts.length)
    for (const offer of offers) {
      if (!isEIP712SignedOffer(offer)) throw new Error('it is signed in another way')
      const { signer: address, payload } = await verifyOfferSignatureEIP712(offer)
      expect(address.toLowerCase()).toBe(signer)
      expect(payload.resourceUrl).toBe(url)
      expect(findAcceptsObjectFromSignedOffer(offer, required.accepts)).toEqual(
        required.accepts[offer.acceptIndex ?? 0],
      )
    }
  })

  const simulate = async (body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await stand.pay(`${stand.gateway.url}/v1/simulate`, init)).json()
  }
  const requestHash = (method: string, params: unknown) => jsonHash({ method, params })

  async function expectSigned(paid: Paid): Promise<void> {
    const receipt = decodeReceipt(paid.receipt)
    expect(receipt.signer).toBe(signer)
    expect(await signerOf(receipt)).toBe(signer)
    const { payload, accepted } = decodePaymentSignatureHeader(stand.payment())
    const authorization = (payload as unknown as { permit2Authorization: Permit2Authorization }).permit2Authorization
    expect(receipt).toMatchObject({
      payer: stand.devnet.accounts.buyer.address.toLowerCase(),
      nonce: authorization.nonce,
      authorizationHash: authorizationHash(accepted.network, authorization),
      payTo: stand.devnet.accounts.seller.address.toLowerCase(),
      amount: paid.charge.amount,
      maximum: paid.charge.maximum,
    })
    expect(Math.abs(receipt.issuedAt - Date.now() / 1_000)).toBeLessThan(600)
  }

  it('are signed by a published key, and the published price list has the hash of the offer', async () => {
    const response = await fetch(`${stand.gateway.url}/.well-known/upfront.json`)
    const document = (await response.json()) as { priceList: object; priceListHash: string }
    expect(document).toMatchObject({ receiptKeys: [{ address: signer }], receipt: { primaryType: 'Receipt' } })
    const unpaid = await fetch(`${stand.gateway.url}/v1/preview`)
    const offer = decodePaymentRequiredHeader(unpaid.headers.get('payment-required') ?? '')
    expect(offer.extensions).toMatchObject({ 'charge-terms': { info: { priceListHash: document.priceListHash } } })
    expect(jsonHash(document.priceList)).toBe(document.priceListHash)
    for (const [path, method] of [
      ['/v1/preview/plain', 'GET'],
      ['/v1/simulate/plain', 'POST'],
      ['/ethereum/v1/simulate/plain', 'POST'],
    ] as const) {
      const plain = await fetch(`${stand.gateway.url}${path}`, { method })
      const { extensions, accepts } = decodePaymentRequiredHeader(plain.headers.get('payment-required') ?? '')
      expect(extensions).toBeUndefined()
      expect(accepts.map(({ extra }) => extra.priceListHash)).toEqual([document.priceListHash])
    }
  })

  it('come with the charge of a simulation', async () => {
    const { result, ...paid } = (await simulate(call(1))) as Paid & { result: { parentHash: string }[] }
    await expectSigned(paid)
    expect(paid.receipt).toMatchObject({
      method: 'eth_simulateV1',
      dialect: 'upfront',
      requestHash: requestHash('eth_simulateV1', call(1).params),
      resultHash: jsonHash(result),
      block: { chainId: '31337', state: 'canonical', hash: result[0]?.parentHash, transactions: [] },
      usage: { gas: ['21000'], accounts: 2, slots: 0, witnessBytes: 0 },
      priceListHash: jsonHash(paid.charge.priceList),
      chargedBefore: '0',
    })
  })

  it('come with each call of a batch and state the charges before it', async () => {
    const answers = (await simulate([call(1), call(2, '0x0'), call(3)])) as (Paid & { error?: unknown })[]
    expect(answers.map(({ error }) => error !== undefined)).toEqual([false, true, false])
    const [first, , third] = answers
    for (const paid of [first!, third!]) await expectSigned(paid)
    expect([first?.receipt.chargedBefore, third?.receipt.chargedBefore]).toEqual(['0', first?.charge.amount])
  })

  it('cover the query and the fields of a preview', async () => {
    const query = { from: ALICE, to: BOB, data: '0x00' }
    const response = await stand.pay(`${stand.gateway.url}/v1/preview?${new URLSearchParams(query)}`)
    const { charge, receipt, ...preview } = (await response.json()) as Paid & Preview
    await expectSigned({ charge, receipt })
    expect(receipt).toMatchObject({
      method: 'preview',
      requestHash: requestHash('preview', query),
      resultHash: jsonHash(preview),
      block: { hash: preview.block.parentHash },
      usage: { gas: [preview.gasUsed, '0'] },
    })
  })

  describe('with a witness', () => {
    /** All that a buyer keeps of a paid request. */
    async function bought(path: string, body?: unknown) {
      const url = stand.gateway.url + path
      const headers = { 'content-type': 'application/json' }
      const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) }
      const unpaid = await fetch(url, init)
      const response = await stand.pay(url, init)
      const exchange = {
        request: body === undefined ? { url } : { url, body },
        answer: await response.json(),
        offer: decodePaymentRequiredHeader(unpaid.headers.get('payment-required') ?? ''),
        payment: decodePaymentSignatureHeader(stand.payment()),
        settlement: decodePaymentResponseHeader(response.headers.get('payment-response') ?? ''),
        seller: await (await fetch(`${stand.gateway.url}/.well-known/upfront.json`)).json(),
        chain: await ethConfig(),
      }
      return JSON.parse(JSON.stringify(exchange))
    }
    const outcomes = ({ calls, payment }: Verification) =>
      [...calls.flatMap(({ checks }) => checks), ...payment].map(({ name, outcome, detail }) => [
        name,
        outcome === 'right' ? outcome : `${outcome}: ${detail}`,
      ])
    /** From the buyer's own node, because the chain's id is not a known one. */
    const ethConfig = async () => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_config', params: [] })
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(stand.devnet.rpcUrl, { method: 'POST', headers, body })
      return ((await answer.json()) as { result: object }).result
    }
    const ALL = [
      ...['signature', 'request', 'block', 'result', 'price list', 'charge', 'witness', 'rules', 'state', 'execution'],
    ]
    const PAID = ['offer', 'authorization', 'payment', 'settlement', 'delivery']
    const allRight = (...names: string[]) => names.map((name) => [name, 'right'])
    const usdcCall = () => {
      const { usdc } = stand.devnet.contracts
      const data = encodeFunctionData({
        abi: usdcAbi,
        functionName: 'transfer',
        args: [stand.devnet.accounts.seller.address, 1n],
      })
      return { from: stand.devnet.accounts.buyer.address, to: usdc, data }
    }

    it('verify a simulation offline, on proven state', async () => {
      const { data, ...call } = usdcCall()
      const params = [{ blockStateCalls: [{ calls: [{ ...call, input: data }] }], traceTransfers: true }, 'latest']
      const body = { jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params }
      const exchange = await bought('/v1/simulate?witness=1', body)
      expect(outcomes(await verify(exchange))).toEqual(allRight(...ALL, ...PAID))
      const { usage } = exchange.answer.charge
      expect(usage.witnessBytes).toBe(JSON.stringify(exchange.answer.witness).length)
      // As a buyer would check it; scripts/test/receipt-package.test.mjs tests the rest of the command's output.
      const file = join(await mkdtemp(join(tmpdir(), 'receipt-')), 'receipt.json')
      await writeFile(file, JSON.stringify(exchange))
      const { status, stdout } = spawnSync(process.execPath, [receiptCommand, 'verify', file], { encoding: 'utf8' })
      expect([status, stdout]).toEqual([0, expect.stringContaining('The bill is right.')])
    }, 120_000)

    it("verify a simulation in another service's shape by the plain one beside it", async () => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tenderly_simulateTransaction', params: [usdcCall(), 'latest'] }
      const exchange = await bought('/v1/simulate?witness=1', body)
      const { result, charge, simulation } = exchange.answer
      expect(result).toMatchObject({ status: true, assetChanges: [{ type: 'Transfer', rawAmount: '0x1' }] })
      expect(simulation).toMatchObject({ method: 'upfront_simulate', result: [{ calls: [{ status: '0x1' }] }] })
      expect(BigInt(charge.amount)).toBeGreaterThan(0n)
      const said = outcomes(await verify(exchange))
      expect(said.filter(([name]) => name !== 'shape')).toEqual(allRight(...ALL, ...PAID))
      expect(said).toContainEqual(['shape', expect.stringMatching(/^unchecked: tenderly_simulateTransaction shows/)])
    }, 120_000)

    it('verify frames, state and asset changes, charged by the gas of all runs and by length', async () => {
      const { data, ...call } = usdcCall()
      const shown = { trace: true, stateDiff: true, accessLists: true, assetChanges: true, gasLimits: true }
      const erc20 = { [call.to]: { balances: { [call.from]: '0x1e8480' } } }
      const params = [
        { blockStateCalls: [{ stateOverrides: { erc20 }, calls: [{ ...call, input: data }] }], ...shown },
        'latest',
      ]
      const body = { jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params }
      const exchange = await bought('/v1/simulate?witness=1', body)
      const { result, charge, receipt, error } = exchange.answer
      expect(result[0].calls[0].assetChanges.balances[0]).toMatchObject({ before: '0x1e8480', after: '0x1e847f' })
      expect(error).toBeUndefined()
      expect(outcomes(await verify(exchange))).toEqual(allRight(...ALL, ...PAID))
      const [ofCall, ofRuns, ofBytes, ...others] = receipt.usage.gas.map(Number)
      expect([others, ofBytes]).toEqual([[], 100 * Buffer.byteLength(JSON.stringify(result))])
      // Runs again with questions to the token, and at least once with other gas limits.
      expect(ofRuns).toBeGreaterThan(2 * ofCall)
      expect(charge.usage.gas).toBe(String(ofCall + ofRuns + ofBytes))
      const free = (await stand.gateway.call('upfront_simulate', params)).result as typeof result
      expect(Object.keys(result[0].calls[0])).toEqual(Object.keys(free[0].calls[0]))
      expect(result[0].calls[0].assetChanges.transfers).toEqual(free[0].calls[0].assetChanges.transfers)
      expect(result[0].calls[0].assetChanges.balances[0]).toMatchObject({ symbol: 'USDC', confirmation: 'agrees' })
    }, 120_000)

    it('verify depends, outcome and guard by the same flags', async () => {
      const { data, ...call } = usdcCall()
      const token = call.to.toLowerCase()
      const waiting = [{ ...call, input: data }]
      const shown = { depends: true, outcome: true, guard: true, waiting }
      const params = [{ blockStateCalls: [{ calls: [{ ...call, input: data }] }], ...shown }, 'latest']
      const body = { jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params }
      const exchange = await bought('/v1/simulate?witness=1', body)
      const [{ depends, outcome, guard }] = exchange.answer.result[0].calls
      expect(depends.facts.map(({ fact }: { fact: { address: string } }) => fact.address)).toContain(token)
      expect(depends.facts.filter((fact: object) => 'changed' in fact || 'isPending' in fact)).toEqual([])
      expect(depends.facts.map(({ waiting }: { waiting?: number }) => waiting)).toContain(1)
      const leftOut = ['positions in the last blocks: the witness of a paid answer proves the state of one block only']
      expect(outcome).toEqual({ verdict: 'holds', because: [], leftOut })
      expect(guard.bounds.map(({ token }: { token?: string }) => token)).toContain(token)
      expect(outcomes(await verify(exchange))).toEqual(allRight(...ALL, ...PAID))
      const said = structuredClone(exchange)
      said.answer.result[0].calls[0].outcome.verdict = 'changes'
      expect(outcomes(await verify(said))).toContainEqual(['result', expect.stringMatching(/^wrong/)])
      const [ofCall, ofRuns] = exchange.answer.receipt.usage.gas.map(Number)
      expect(ofRuns).toBeGreaterThan(ofCall / 2)
    }, 120_000)

    it('verify each call of a batch, including block hashes', async () => {
      const blockHashes = assemble('2 NUMBER SUB BLOCKHASH 4 NUMBER SUB BLOCKHASH STOP')
      const hashes = call(2)
      hashes.params = [
        { blockStateCalls: [{ stateOverrides: { [BOB]: { code: blockHashes } }, calls: [{ to: BOB }] }] },
        'latest',
      ] as never
      const exchange = await bought('/v1/simulate?witness=1&dialect=ethereum', [call(1), hashes, call(3, '0x0')])
      expect(outcomes(await verify(exchange))).toEqual(allRight(...ALL, ...ALL, ...PAID))
      expect(Object.keys(exchange.answer[1].witness.blockHashes)).toHaveLength(2)
    })

    it.each(['/v1/preview', '/v1/preview/plain'])('verify a preview by %s', async (path) => {
      const exchange = await bought(`${path}?witness=1&${new URLSearchParams(usdcCall())}`)
      const result = await verify(exchange)
      // The node's own block under construction: no header commits to its state.
      expect(result.verdict).toBe(exchange.answer.receipt.block.state === 'canonical' ? 'right' : 'unchecked')
      expect(outcomes(result).filter(([name]) => name !== 'state')).toEqual(
        allRight(...ALL.filter((name) => name !== 'state'), ...PAID),
      )
    })

    it('are refused for another value of witness, and nothing is charged', async () => {
      const response = await stand.pay(`${stand.gateway.url}/v1/preview?witness=yes&to=${BOB}`)
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('witness: expected 0 or 1'),
      ])
      expect(response.headers.get('payment-response')).not.toBeNull()
    })
  })

  describe('on pre-confirmed state of an OP-stack chain, paid on another', () => {
    let devnet: Devnet
    let gateway: GatewayProcess

    beforeAll(async () => {
      devnet = await startDevnet({ flashblocksPort: 0, blockTimeSeconds: 2, payments: false, optimism: true })
      gateway = await stand.startGateway({
        RECEIPT_KEYS_FILE: receiptKeysFile(RECEIPT_KEY),
        UPSTREAM_RPC_URL: devnet.rpcUrl,
        FLASHBLOCKS_WS_URL: devnet.flashblocksUrl!,
        CHAIN_GENESIS_FILE: OP_GENESIS_FILE,
        EVM_ENGINE: 'native',
      })
    }, 120_000)
    afterAll(async () => {
      await gateway?.stop()
      await devnet?.stop()
    })
    const native = loadRevm().reason === undefined ? test : it.skip

    native(
      'name the flashblock and its transactions, and the portable engine reproduces the native result',
      async () => {
        const url = `${gateway.url}/v1/preview?witness=1&from=${ALICE}&to=${BOB}`
        const buy = async () => (await (await stand.pay(url)).json()) as Paid & Preview
        let answer = await buy()
        // The gateway follows the stream a moment after it listens.
        for (let tries = 0; tries < 50 && answer.receipt.block.state !== 'preconfirmed'; tries++) answer = await buy()
        const { block } = answer.receipt
        expect(block.state).toBe('preconfirmed')
        expect(block.payloadId).toMatch(/^0x[0-9a-f]{16}$/)
        // Each streamed block begins with a deposit.
        expect(block.transactions.length).toBeGreaterThan(0)
        expect(block.flashblock).toBe(answer.block.flashblock)
        const chain = JSON.parse(await readFile(OP_GENESIS_FILE, 'utf8'))
        const { calls, verdict } = await verify({ request: { url }, answer, chain }, { signer })
        const checks = calls.flatMap((call) => call.checks)
        expect(verdict).toBe('unchecked')
        expect(checks.filter(({ outcome }) => outcome !== 'right')).toEqual([
          { name: 'price list', outcome: 'unchecked', detail: expect.stringContaining('no "offer"') },
          { name: 'rules', outcome: 'unchecked', detail: expect.stringContaining('gas cap') },
          { name: 'state', outcome: 'unchecked', detail: expect.stringContaining('no header commits to it yet') },
        ])
        expect(checks.at(-1)).toMatchObject({ name: 'execution', detail: expect.stringMatching(/^portable: /) })
      },
    )

    native('verify an outcome that was analysed without earlier positions', async () => {
      const calls = [{ from: ALICE, to: BOB, value: '0x0' }]
      const params = [{ blockStateCalls: [{ calls }], depends: true, outcome: true }, 'pending']
      const request = {
        url: `${gateway.url}/v1/simulate?witness=1`,
        body: { jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params },
      }
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request.body),
      }
      const buy = async () => (await (await stand.pay(request.url, init)).json()) as Paid & { result: object[] }
      let answer = await buy()
      while (answer.receipt?.block.state !== 'preconfirmed') answer = await buy()
      const chain = JSON.parse(await readFile(OP_GENESIS_FILE, 'utf8'))
      const { calls: verified } = await verify({ request, answer, chain }, { signer })
      const checks = verified.flatMap((call) => call.checks)
      expect(checks.filter(({ outcome }) => outcome === 'wrong')).toEqual([])
      expect(checks.find(({ name }) => name === 'execution')).toMatchObject({ outcome: 'right' })
    })
  })

  it('a wrong BILLING_TOKEN is logged at start, and free requests are still served', async () => {
    const gateway = await stand.startGateway({ BILLING_TOKEN: 'another-service-token' })
    try {
      const warning = /the facilitator accepts no payments.*401|401.*the facilitator accepts no payments/
      // The log and the greeting arrive in either order.
      while (!warning.test(gateway.output())) await sleep(20)
      expect((await gateway.call('eth_chainId')).result).toBe('0x7a69')
    } finally {
      await gateway.stop()
    }
  })

  it('are absent without RECEIPT_KEYS_FILE', async () => {
    const gateway = await stand.startGateway({})
    try {
      const response = await stand.pay(`${gateway.url}/v1/preview?to=${BOB}`)
      expect(Object.keys((await response.json()) as object)).toEqual(expect.not.arrayContaining(['receipt']))
      const published = await fetch(`${gateway.url}/.well-known/upfront.json`)
      expect(await published.json()).toMatchObject({ receiptKeys: [] })
    } finally {
      await gateway.stop()
    }
  })
})

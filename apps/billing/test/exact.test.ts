import { DEVNET_ROLES, USDC_ADDRESS } from '@upfront/devnet'
import { createLogger } from '@upfront/service'
import { HTTPFacilitatorClient, x402ResourceServer } from '@x402/core/server'
import type { PaymentPayload } from '@x402/core/types'
import { ExactEvmScheme as ExactServer } from '@x402/evm/exact/server'
import { createPublicClient, createWalletClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { openLedger } from '../src/ledger/ledger.js'
import { makeSeller } from '../src/sellers/seller-accounts.js'
import { runBilling } from './support/billing.js'
import { makeRequirements, type Offer, SELLER, sign } from './support/buyer.js'
import { newBuyer } from './support/new-buyer.js'
import { burnNonce, rpc, settlementCall, targetOf } from './support/on-chain.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const PRICE = '2500'
const { buyer, seller } = DEVNET_ROLES

/** Transfer methods, with the reasons that @x402/evm gives for the same faults. */
const METHODS = [
  {
    method: 'eip3009',
    signature: 'invalid_exact_evm_signature',
    recipient: 'invalid_exact_evm_signature',
    amount: 'invalid_exact_evm_payload_authorization_value_mismatch',
    nonce: 'invalid_exact_evm_nonce_already_used',
    balance: 'invalid_exact_evm_insufficient_balance',
  },
  {
    method: 'permit2',
    signature: 'invalid_permit2_signature',
    recipient: 'invalid_permit2_recipient_mismatch',
    amount: 'permit2_amount_mismatch',
    nonce: 'permit2_invalid_nonce',
    balance: 'permit2_insufficient_balance',
  },
] as const

/** Makes a seller account in the ledger of these variables. Returns its token. */
async function makeAccount({ BILLING_DATA_DIR = '', ...variables }: Record<string, string>): Promise<string> {
  const ledger = await openLedger({ BILLING_DATA_DIR, ...variables }, createLogger({ level: 'silent' }))
  try {
    const terms = { name: 'stock', recipients: [SELLER], minimum: 1n, perMinute: 1_000, dailyGas: null }
    return (await makeSeller(ledger.db, terms)).token
  } finally {
    await ledger.onApplicationShutdown()
  }
}

describe.each(oneStore())('the scheme exact, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let account: string
  const prepare = async (variables: Record<string, string>) => {
    account = await makeAccount(variables)
  }
  const stand = useStand(store, { settings: { recoveryMs: '200' }, prepare })
  const earned = () => usdcBalance(stand.devnet, SELLER)
  const payments = async () =>
    ((await stand.billing.send('/payments')).body as { payments: { state: string }[] }).payments
  const differences = async () =>
    ((await stand.billing.send('/reconciliation')).body as { differences: unknown[] }).differences
  const { anvil } = stand
  const stranger = () =>
    createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.facilitators[1].privateKey),
      chain: foundry,
      transport: http(stand.devnet.rpcUrl),
    })

  /** Settles as anyone who sees the signature can. Through a forwarding contract, the transaction itself does not name the payment. */
  async function sendElsewhere(payload: PaymentPayload, through: 'itself' | 'a contract'): Promise<Hex> {
    const target = targetOf(payload)
    let to = target
    if (through === 'a contract') {
      to = '0x00000000000000000000000000000000000f0f0f'
      // calldatacopy(0, 0, calldatasize); call(gas, target, 0, 0, calldatasize, 0, 0)
      await anvil().setCode({ address: to, bytecode: `0x36600060003760006000366000600073${target.slice(2)}5af100` })
    }
    return stranger().sendTransaction({ to, data: settlementCall(payload), gas: 300_000n })
  }
  const mined = (hash: Hex) =>
    createPublicClient({ transport: http(stand.devnet.rpcUrl) }).waitForTransactionReceipt({ hash })
  const authorized = async (payload: PaymentPayload) => {
    const result = await stand.billing.authorize(payload)
    if (result.outcome !== 'authorized') throw new Error(`${result.reason}: ${result.message}`)
    return result.payment.id
  }
  const ended = (id: string) =>
    until(
      () => stand.billing.payment(id),
      ({ state }) => state === 'settled' || state === 'failed',
      () => anvil().mine({ blocks: 1 }),
    )

  describe.each(METHODS)('by $method', ({ method, ...reasons }) => {
    const offer = (more: Offer = {}) => makeRequirements({ scheme: 'exact', method, maximum: PRICE, ...more })

    test('serves a stock x402ResourceServer, and settles a payment of the official client once', async () => {
      const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: `${stand.billing.url}/s/${account}` }))
      server.register('eip155:31337', new ExactServer())
      await server.initialize()
      const [requirements] = await server.buildPaymentRequirements({
        scheme: 'exact',
        network: 'eip155:31337',
        payTo: SELLER,
        price: {
          asset: USDC_ADDRESS,
          amount: PRICE,
          extra: { name: 'USDC', version: '2', assetTransferMethod: method },
        },
        maxTimeoutSeconds: 60,
      })
      const payload = await sign(requirements)
      const before = await earned()
      expect(await server.verifyPayment(payload, requirements!)).toMatchObject({
        isValid: true,
        payer: buyer.address.toLowerCase(),
      })
      const settled = await server.settlePayment(payload, requirements!)
      expect(settled).toMatchObject({
        success: true,
        payer: buyer.address.toLowerCase(),
        transaction: expect.stringMatching(/^0x/),
      })
      expect((await earned()) - before).toBe(BigInt(PRICE))
      for (const repeated of [await stand.billing.verify(payload), await stand.billing.settle(payload, PRICE)]) {
        const { invalidReason, errorReason } = repeated.body as { invalidReason?: string; errorReason?: string }
        expect(invalidReason ?? errorReason).toBe(reasons.nonce)
      }
      expect((await earned()) - before).toBe(BigInt(PRICE))
      expect(await differences()).toEqual([])
    })

    test('refuses altered payments and other amounts as @x402/evm does, and stores nothing', async () => {
      const known = (await payments()).length
      const altered = async (alter: (signed: Record<string, unknown>, body: { signature: string }) => void) => {
        const payload = structuredClone(await sign(offer()))
        const body = payload.payload as { signature: string; authorization?: object; permit2Authorization?: object }
        alter((body.authorization ?? body.permit2Authorization) as Record<string, unknown>, body)
        return payload
      }
      const cases: [string, PaymentPayload][] = [
        [reasons.signature, await altered((signed) => Object.assign(signed, { from: seller.address }))],
        [reasons.signature, await altered((_, body) => Object.assign(body, { signature: `0x${'11'.repeat(65)}` }))],
        [
          reasons.signature,
          await altered((signed) => {
            signed.nonce = method === 'eip3009' ? `0x${'11'.repeat(32)}` : '17'
          }),
        ],
        [
          reasons.recipient,
          await altered((signed) => Object.assign((signed.witness as object) ?? signed, { to: USDC_ADDRESS })),
        ],
        ['invalid_payload', await altered((signed) => Object.assign(signed, { nonce: '0x12' }))],
      ]
      for (const [reason, payload] of cases) {
        expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: false, invalidReason: reason })
        expect((await stand.billing.settle(payload, PRICE)).body).toMatchObject({ success: false })
      }
      const payload = await sign(offer())
      for (const amount of ['2499', '0', '2501']) {
        const refused = { success: false, errorReason: reasons.amount }
        expect((await stand.billing.settle(payload, amount)).body).toMatchObject(refused)
      }
      expect((await stand.billing.verify(payload, makeRequirements())).body).toMatchObject({ isValid: false })
      const poor = await newBuyer(stand.devnet)
      const uncovered = { isValid: false, invalidReason: reasons.balance }
      expect((await stand.billing.verify(await sign(offer({ maximum: '1000001' }), poor))).body).toMatchObject(
        uncovered,
      )
      expect(await payments()).toHaveLength(known)
    })

    test('refuses an upto signature for exact', async () => {
      const upto = await sign()
      const asExact = { ...upto, accepted: { ...offer({ maximum: '100000' }) } } as PaymentPayload
      expect((await stand.billing.verify(asExact)).body).toMatchObject({
        isValid: false,
        invalidReason: 'invalid_permit2_spender',
      })
    })

    test('settles one authorization once under 20 concurrent calls of /settle', async () => {
      const payload = await sign(offer())
      const before = await earned()
      const answers = await Promise.all(Array.from({ length: 20 }, () => stand.billing.settle(payload, PRICE)))
      expect(answers.filter(({ body }) => (body as { success: boolean }).success)).toHaveLength(1)
      expect((await earned()) - before).toBe(BigInt(PRICE))
    })

    test.each(['itself', 'a contract'] as const)(
      'settles at no gas cost if a third party sent the authorization through %s',
      async (through) => {
        const payload = await sign(offer())
        const id = await authorized(payload)
        const before = await earned()
        const hash = await sendElsewhere(payload, through)
        await mined(hash)
        await stand.billing.charge(id, PRICE, { waitMilliseconds: 0 })
        expect(await ended(id)).toMatchObject({
          scheme: 'exact',
          state: 'settled',
          transaction: hash,
          gasUsed: 0n,
          feePaid: 0n,
        })
        expect((await earned()) - before).toBe(BigInt(PRICE))
        expect(await differences()).toEqual([])
      },
    )

    test('accepts an authorization of 1 hour, as the x402 Go client signs it, and refuses one of 10 hours', async () => {
      for (const [maxTimeoutSeconds, isValid] of [
        [3_600, true],
        [36_000, false],
      ] as const) {
        const payload = await sign(offer({ maxTimeoutSeconds }))
        const accepted = offer({ maxTimeoutSeconds: 60 })
        expect((await stand.billing.verify({ ...payload, accepted })).body).toMatchObject({ isValid })
      }
    })

    test('charges the full signed amount or zero, and refuses less than that amount', async () => {
      const [whole, none] = [await authorized(await sign(offer())), await authorized(await sign(offer()))]
      expect(await stand.billing.charge(whole, '2499')).toMatchObject({
        outcome: 'refused',
        reason: 'permit2_amount_mismatch',
      })
      expect((await stand.billing.charge(whole, PRICE)).payment.state).toBe('settled')
      expect((await stand.billing.charge(none, '0')).payment.state).toBe('zero')
    })
  })

  test('is listed by /supported with its transfer methods and payment flows', async () => {
    const { kinds } = (await stand.billing.send('/supported')).body as { kinds: unknown[] }
    expect(kinds).toMatchObject([
      { scheme: 'upto', extra: { assetTransferMethods: ['permit2'], paymentFlows: ['authorization'] } },
      {
        scheme: 'exact',
        extra: { assetTransferMethods: ['eip3009', 'permit2'], paymentFlows: ['authorization', 'upfront'] },
      },
    ])
  })

  test('settles only one of two identical payments if one was transferred and the nonce of the other burned', async () => {
    const offer = makeRequirements({ scheme: 'exact', maximum: PRICE })
    const payloads = [await sign(offer), await sign(offer)] as const
    const ids = [await authorized(payloads[0]), await authorized(payloads[1])]
    const before = await earned()
    await anvil().setAutomine(false)
    const hash = await sendElsewhere(payloads[0], 'a contract')
    const { nonce } = (payloads[1].payload as { permit2Authorization: { nonce: string } }).permit2Authorization
    await burnNonce(stand.devnet, BigInt(nonce))
    await anvil().mine({ blocks: 1 })
    await anvil().setAutomine(true)
    expect((await mined(hash)).status).toBe('success')
    for (const id of ids) await stand.billing.charge(id, PRICE, { waitMilliseconds: 0 })
    const states = (await Promise.all(ids.map(ended))).map(({ state }) => state)
    expect(states.sort()).toEqual(['failed', 'settled'])
    expect((await earned()) - before).toBe(BigInt(PRICE))
    expect(await differences()).toEqual([])
  })

  test('settles upto and both methods of exact in shared batches', async () => {
    const billing = await runBilling(stand.devnet.rpcUrl, { SETTLEMENT: 'batch', ...(await store.variables()) })
    try {
      // The first delegates the signer's account.
      const payer = { ...DEVNET_ROLES.unapprovedBuyer }
      await billing.settle(
        await sign(makeRequirements({ scheme: 'exact', method: 'eip3009', maximum: '1' }), payer),
        '1',
      )
      const before = await earned()
      const offers = [
        makeRequirements(),
        makeRequirements({ scheme: 'exact', method: 'eip3009', maximum: PRICE }),
        makeRequirements({ scheme: 'exact', method: 'permit2', maximum: PRICE }),
      ]
      const amounts = ['100', PRICE, PRICE]
      const payloads = await Promise.all([...offers, ...offers].map((offer) => sign(offer)))
      await anvil().setAutomine(false)
      const ids: string[] = []
      for (const payload of payloads) {
        const result = await billing.authorize(payload)
        if (result.outcome !== 'authorized') throw new Error(result.reason)
        ids.push(result.payment.id)
      }
      const charged = Promise.all(ids.map((id, at) => billing.charge(id, amounts[at % 3]!)))
      await until(
        async () => (await Promise.all(ids.map((id) => billing.payment(id)))).every(({ state }) => state === 'settled'),
        Boolean,
        () => anvil().mine({ blocks: 1 }),
      )
      await anvil().setAutomine(true)
      const transactions = (await charged).map(({ payment }) => payment.transaction)
      expect((await earned()) - before).toBe(2n * (100n + 2n * BigInt(PRICE)))
      expect(new Set(transactions).size).toBeLessThan(6)
      for (const transaction of new Set(transactions)) {
        const sent = (await rpc(stand.devnet.rpcUrl, 'eth_getTransactionByHash', [transaction])) as Record<
          string,
          string
        >
        if (transactions.filter((one) => one === transaction).length > 1) expect(sent.to).toBe(sent.from)
      }
      expect((await billing.send('/reconciliation')).body).toMatchObject({ differences: [] })
    } finally {
      await anvil().setAutomine(true)
      await billing.close()
    }
  })
})

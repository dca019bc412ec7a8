import { DEVNET_ROLES, USDC_ADDRESS } from '@upfront/devnet'
import { createLogger } from '@upfront/service'
import { HTTPFacilitatorClient, x402ResourceServer } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { eip3009ABI } from '@x402/evm'
import { ExactEvmScheme as ExactClient } from '@x402/evm/exact/client'
import { ExactEvmScheme as ExactServer } from '@x402/evm/exact/server'
import { createPublicClient, createTestClient, createWalletClient, type Hex, http, parseSignature } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { openLedger } from '../src/ledger/ledger.js'
import { makeSeller } from '../src/sellers/seller-accounts.js'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { newBuyer } from './support/new-buyer.js'
import { type RunningBilling, usdcBalance, useStand } from './support/stand.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

const PRICE = '2500'
const { buyer, seller } = DEVNET_ROLES

function exactRequirements(amount = PRICE, payTo: string = SELLER): PaymentRequirements {
  const extra = { name: 'USDC', version: '2' }
  const asset = USDC_ADDRESS
  return { scheme: 'exact', network: 'eip155:31337', amount, asset, payTo, maxTimeoutSeconds: 600, extra }
}

async function signExact(
  requirements = exactRequirements(),
  account: PrivateKeyAccount = privateKeyToAccount(buyer.privateKey),
): Promise<PaymentPayload> {
  const payload = await new ExactClient(account).createPaymentPayload(2, requirements)
  return { ...payload, accepted: requirements } as PaymentPayload
}

/** The token of a new account on the ledger of these variables. */
async function makeAccount({ BILLING_DATA_DIR = '', ...variables }: Record<string, string>): Promise<string> {
  const ledger = await openLedger({ BILLING_DATA_DIR, ...variables }, createLogger({ level: 'silent' }))
  try {
    const terms = { name: 'stock', recipients: [SELLER], minimum: 1n, perMinute: 1_000, dailyGas: null }
    return (await makeSeller(ledger.db, terms)).token
  } finally {
    await ledger.onApplicationShutdown()
  }
}

type Signed = {
  signature: Hex
  authorization: Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore', string> & { nonce: Hex }
}

describe.each(stores())('the scheme exact by EIP-3009, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let account: string
  const stand = useStand(store, async (variables) => {
    account = await makeAccount(variables)
  })
  const earned = () => usdcBalance(stand.devnet, SELLER)
  const payments = async () =>
    ((await stand.billing.send('/payments')).body as { payments: { state: string }[] }).payments
  const difference = async () => (await stand.billing.send('/reconciliation')).body as { differences: unknown[] }

  /** As anybody can who sees the signature. */
  async function sendElsewhere(payload: PaymentPayload): Promise<Hex> {
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.facilitators[1].privateKey),
      chain: foundry,
      transport: http(stand.devnet.rpcUrl),
    })
    const { authorization: a, signature } = payload.payload as unknown as Signed
    const { r, s, v } = parseSignature(signature)
    const hash = await wallet.writeContract({
      address: USDC_ADDRESS,
      abi: eip3009ABI,
      functionName: 'transferWithAuthorization',
      args: [
        a.from as Hex,
        a.to as Hex,
        BigInt(a.value),
        BigInt(a.validAfter),
        BigInt(a.validBefore),
        a.nonce,
        Number(v),
        r,
        s,
      ],
    })
    await createPublicClient({ transport: http(stand.devnet.rpcUrl) }).waitForTransactionReceipt({ hash })
    return hash
  }

  test('starts a stock seller, and settles what the official client signs, once', async () => {
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: `${stand.billing.url}/s/${account}` }))
    server.register('eip155:31337', new ExactServer())
    await server.initialize()
    const [requirements] = await server.buildPaymentRequirements({
      scheme: 'exact',
      network: 'eip155:31337',
      payTo: SELLER,
      price: { asset: USDC_ADDRESS, amount: PRICE, extra: { name: 'USDC', version: '2' } },
      maxTimeoutSeconds: 60,
    })
    const payload = await signExact(requirements)
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
      expect(invalidReason ?? errorReason).toBe('invalid_exact_evm_nonce_already_used')
    }
    expect((await earned()) - before).toBe(BigInt(PRICE))
    expect((await difference()).differences).toEqual([])
  })

  test('refuses what was not signed so, and stores nothing of it', async () => {
    const known = (await payments()).length
    const change = async (altered: Partial<Signed['authorization']> & { signature?: Hex }) => {
      const payload = structuredClone(await signExact())
      const { signature, ...authorization } = altered
      const signed = payload.payload as unknown as Signed
      Object.assign(signed.authorization, authorization)
      if (signature !== undefined) signed.signature = signature
      return payload
    }
    const altered: [string, PaymentPayload][] = [
      ['invalid_exact_evm_signature', await change({ nonce: `0x${'11'.repeat(32)}` })],
      ['invalid_exact_evm_signature', await change({ from: seller.address })],
      ['invalid_exact_evm_signature', await change({ to: USDC_ADDRESS })],
      ['invalid_exact_evm_signature', await change({ signature: `0x${'11'.repeat(65)}` })],
      ['invalid_payload', await change({ nonce: '0x12' })],
    ]
    for (const [reason, payload] of altered) {
      expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: false, invalidReason: reason })
      expect((await stand.billing.settle(payload, PRICE)).body).toMatchObject({ success: false })
    }
    const payload = await signExact()
    for (const [amount, reason] of [
      ['2499', 'invalid_exact_evm_payload_authorization_value_mismatch'],
      ['0', 'invalid_exact_evm_payload_authorization_value_mismatch'],
      ['2501', 'invalid_exact_evm_payload_authorization_value_mismatch'],
    ] as const) {
      expect((await stand.billing.settle(payload, amount)).body).toMatchObject({ success: false, errorReason: reason })
    }
    const upto = await sign()
    const asExact = { ...upto, accepted: { ...upto.accepted, scheme: 'exact' } } as PaymentPayload
    expect((await stand.billing.verify(asExact)).body).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_payload',
    })
    expect((await stand.billing.verify(payload, makeRequirements())).body).toMatchObject({ isValid: false })
    const poor = await newBuyer(stand.devnet)
    const uncovered = await signExact(exactRequirements('1000001'), poor)
    expect((await stand.billing.verify(uncovered)).body).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_exact_evm_insufficient_balance',
    })
    expect(await payments()).toHaveLength(known)
  })

  test('grants one authorization once, however often it is settled at once', async () => {
    const payload = await signExact()
    const before = await earned()
    const answers = await Promise.all(Array.from({ length: 20 }, () => stand.billing.settle(payload, PRICE)))
    expect(answers.filter(({ body }) => (body as { success: boolean }).success)).toHaveLength(1)
    expect((await earned()) - before).toBe(BigInt(PRICE))
  })

  test('counts a transfer that somebody else sent with the authorization, at no cost of gas', async () => {
    const payload = await signExact()
    const authorized = await stand.billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    const before = await earned()
    const hash = await sendElsewhere(payload)
    const { payment } = await stand.billing.charge(authorized.payment.id, PRICE, { waitMilliseconds: 0 })
    await until(async () => {
      await createTestClient({ mode: 'anvil', transport: http(stand.devnet.rpcUrl) }).mine({ blocks: 1 })
      return (await stand.billing.payment(payment.id)).state === 'settled'
    })
    expect(await stand.billing.payment(payment.id)).toMatchObject({ transaction: hash, gasUsed: 0n, feePaid: 0n })
    expect((await earned()) - before).toBe(BigInt(PRICE))
    expect((await difference()).differences).toEqual([])
  })

  test('charges all that was signed, or nothing', async () => {
    const [whole, none] = await Promise.all([
      stand.billing.authorize(await signExact()),
      stand.billing.authorize(await signExact()),
    ])
    if (whole.outcome !== 'authorized' || none.outcome !== 'authorized') throw new Error('refused')
    expect(await stand.billing.charge(whole.payment.id, '2499')).toMatchObject({
      outcome: 'refused',
      reason: 'permit2_amount_mismatch',
    })
    expect((await stand.billing.charge(whole.payment.id, PRICE)).payment.state).toBe('settled')
    expect((await stand.billing.charge(none.payment.id, '0')).payment.state).toBe('zero')
  })

  test('settles beside upto in batches, by a transaction of its own', async () => {
    const billing: RunningBilling = await runBilling(stand.devnet.rpcUrl, {
      SETTLEMENT: 'batch',
      ...(await store.variables()),
    })
    try {
      const before = await earned()
      const payloads = [await sign(), await signExact(), await sign(), await signExact()]
      const amounts = ['100', PRICE, '200', PRICE]
      const answers = await Promise.all(payloads.map((payload, at) => billing.settle(payload, amounts[at]!)))
      for (const { body } of answers) expect(body).toMatchObject({ success: true })
      expect((await earned()) - before).toBe(300n + 2n * BigInt(PRICE))
    } finally {
      await billing.close()
    }
  })
})

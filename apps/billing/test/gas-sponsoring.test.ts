import { DEVNET_ROLES, type Devnet, readArtifact, startDevnet, USDC_ADDRESS } from '@upfront/devnet'
import { GAS_SPONSORING, type Payment } from '@upfront/protocol'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { x402ExactPermit2ProxyABI, x402UptoPermit2ProxyABI } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { createPublicClient, createWalletClient, decodeFunctionData, type Hex, http, parseSignature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { EXACT_PROXY, PERMIT2 } from '../src/chain/settlement-call.js'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER } from './support/buyer.js'
import { newBuyer } from './support/new-buyer.js'
import { rpc } from './support/on-chain.js'
import { type RunningBilling, usdcBalance } from './support/stand.js'
import { oneStore } from './support/stores.js'

const ETHER = 10n ** 18n
const MAXIMUM = 100_000n

interface Permit {
  from: string
  asset: string
  spender: string
  amount: string
  nonce: string
  deadline: string
  signature: Hex
}

interface Sent {
  to: string
  input: Hex
}

describe.each(oneStore())('gas sponsoring, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let billing: RunningBilling

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    devnet = await startDevnet()
    billing = await run(ETHER)
  })
  afterAll(async () => {
    await billing?.close()
    await devnet?.stop()
    await store.stop()
  })

  async function run(
    dailySponsoredGas: bigint,
    token = USDC_ADDRESS as string,
    variables: NodeJS.ProcessEnv = {},
  ): Promise<RunningBilling> {
    const tokens = { [token]: { name: 'USDC', version: '2', decimals: 6 } }
    const chain = { rpcUrl: devnet.rpcUrl, tokens, dailySponsoredGas: `${dailySponsoredGas}` }
    const CHAINS = JSON.stringify({ 'eip155:31337': chain })
    return runBilling(devnet.rpcUrl, { ...(await store.variables()), ...variables, CHAINS })
  }

  /** Signs with a permit, as the official client does if the offer names the extension. */
  async function signWithPermit(
    account: ConstructorParameters<typeof UptoEvmScheme>[0],
    requirements: PaymentRequirements = makeRequirements(),
    change: (permit: Permit) => void = () => undefined,
  ): Promise<PaymentPayload> {
    const Client = requirements.scheme === 'upto' ? UptoEvmScheme : ExactEvmScheme
    const scheme = new Client(account, { rpcUrl: devnet.rpcUrl })
    const offer = { extensions: { [GAS_SPONSORING]: { info: {} } } }
    const signed = await scheme.createPaymentPayload(2, requirements, offer)
    const payload = { ...signed, accepted: requirements } as PaymentPayload
    change((payload.extensions as Record<string, { info: Permit }>)[GAS_SPONSORING]?.info as Permit)
    return payload
  }

  async function authorize(payload: PaymentPayload, by = billing): Promise<Payment> {
    const result = await by.authorize(payload)
    if (result.outcome !== 'authorized') throw new Error(`refused: ${result.reason} ${result.message}`)
    return result.payment
  }

  test('is listed by /supported', async () => {
    expect((await billing.send('/supported')).body).toMatchObject({ extensions: ['bazaar', GAS_SPONSORING] })
  })

  test('lets an account without ETH or an approval pay repeatedly', async () => {
    const buyer = await newBuyer(devnet)
    for (const charge of [MAXIMUM, 1n, 70_000n]) {
      const before = await usdcBalance(devnet, SELLER)
      const { id } = await authorize(await signWithPermit(buyer))
      const { payment } = await billing.charge(id, `${charge}`)
      expect(payment).toMatchObject({ state: 'settled', charge })
      expect((await usdcBalance(devnet, SELLER)) - before).toBe(charge)
      expect(await functionOf(payment)).toBe('settleWithPermit')
    }
    const client = createPublicClient({ transport: http(devnet.rpcUrl) })
    expect(await client.getBalance({ address: buyer.address })).toBe(0n)
    expect(await client.getTransactionCount({ address: buyer.address })).toBe(0)
  })

  test('works through /verify and /settle', async () => {
    const payload = await signWithPermit(await newBuyer(devnet))
    expect((await billing.verify(payload)).body).toMatchObject({ isValid: true })
    expect((await billing.settle(payload, '50000')).body).toMatchObject({ success: true, amount: '50000' })
  })

  test('works for exact by Permit2', async () => {
    const buyer = await newBuyer(devnet)
    const exact = makeRequirements({ scheme: 'exact', maximum: '2500' })
    const before = await usdcBalance(devnet, SELLER)
    const { id } = await authorize(await signWithPermit(buyer, exact))
    const { payment } = await billing.charge(id, '2500')
    expect(payment).toMatchObject({ state: 'settled', scheme: 'exact' })
    const { to, input } = (await rpc(devnet.rpcUrl, 'eth_getTransactionByHash', [payment.transaction])) as Sent
    expect(to).toBe(EXACT_PROXY)
    expect(decodeFunctionData({ abi: x402ExactPermit2ProxyABI, data: input }).functionName).toBe('settleWithPermit')
    expect((await billing.settle(await signWithPermit(buyer, exact), '2500')).body).toMatchObject({ success: true })
    expect((await usdcBalance(devnet, SELLER)) - before).toBe(5_000n)
  })

  test('sends no permit if Permit2 is already approved', async () => {
    const buyer = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
    // The client would sign none: it is told that nothing is approved.
    const payload = await signWithPermit({ ...buyer, readContract: async () => 0n })
    const { payment } = await billing.charge((await authorize(payload)).id, '5')
    expect(payment.state).toBe('settled')
    expect(await functionOf(payment)).toBe('settle')
  })

  test('authorizes one payment with a permit at a time per payer', async () => {
    const buyer = await newBuyer(devnet)
    const [first, second] = [await signWithPermit(buyer), await signWithPermit(buyer)]
    const results = await Promise.all([first, second].map((payload) => billing.authorize(payload)))
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['authorized', 'refused'])
    expect(results).toContainEqual(expect.objectContaining({ reason: 'permit2_allowance_required' }))
    const { payment } = results.find(({ outcome }) => outcome === 'authorized') as { payment: Payment }
    await billing.charge(payment.id, '10')
    await authorize(await signWithPermit(buyer))
  })

  test('settles if somebody else has already submitted the permit', async () => {
    const buyer = await newBuyer(devnet)
    const payload = await signWithPermit(buyer)
    const { id } = await authorize(payload)
    const info = (payload.extensions as Record<string, { info: Permit }>)[GAS_SPONSORING]?.info as Permit
    const { r, s, v } = parseSignature(info.signature)
    const stranger = privateKeyToAccount(DEVNET_ROLES.unapprovedBuyer.privateKey)
    await createWalletClient({ account: stranger, transport: http(devnet.rpcUrl) }).writeContract({
      ...{ chain: null, address: USDC_ADDRESS, functionName: 'permit' },
      abi: readArtifact('TestUsdc').abi,
      args: [buyer.address, PERMIT2, MAXIMUM, BigInt(info.deadline), Number(v), r, s],
    })
    expect((await billing.charge(id, '99')).payment).toMatchObject({ state: 'settled' })
  })

  test.each<[string, string, (permit: Permit) => void]>([
    ['a nonce that is used', 'permit2_allowance_required', (permit) => Object.assign(permit, forgedSignature())],
    ['another owner', 'eip2612_from_mismatch', (permit) => Object.assign(permit, { from: SELLER })],
    ['another token', 'eip2612_asset_mismatch', (permit) => Object.assign(permit, { asset: SELLER })],
    ['another spender', 'eip2612_spender_not_permit2', (permit) => Object.assign(permit, { spender: SELLER })],
    ['another amount', 'permit2_2612_amount_mismatch', (permit) => Object.assign(permit, { amount: '100001' })],
    [
      'an early end',
      'eip2612_deadline_expired',
      (permit) => Object.assign(permit, { deadline: '1900000000'.slice(1) }),
    ],
    ['half a signature', 'invalid_eip2612_extension_format', (permit) => Object.assign(permit, { signature: '0x11' })],
    ['an amount in hex', 'invalid_eip2612_extension_format', (permit) => Object.assign(permit, { amount: '0x1' })],
  ])('refuses a permit with %s as %s', async (_, reason, change) => {
    const payload = await signWithPermit(await newBuyer(devnet), makeRequirements(), change)
    expect(await billing.authorize(payload)).toMatchObject({ outcome: 'refused', reason })
    expect((await billing.verify(payload)).body).toMatchObject({ isValid: false, invalidReason: reason })
  })

  test('refuses a payer whose dailySponsoredGas is spent, not counting released payments', async () => {
    const client = createPublicClient({ transport: http(devnet.rpcUrl) })
    const { baseFeePerGas } = await client.getBlock()
    const [base, suggested] = [baseFeePerGas ?? 0n, await client.estimateMaxPriorityFeePerGas()]
    // Enough for two permits, at twice the base fee plus a tip of at most the base fee.
    const strict = await run((2n * base + (suggested < base ? suggested : base)) * 145_000n)
    try {
      const buyer = await newBuyer(devnet)
      const given = await authorize(await signWithPermit(buyer), strict)
      await strict.release(given.id, 'failed')
      for (const charge of ['1', '2']) {
        const { id } = await authorize(await signWithPermit(buyer), strict)
        expect((await strict.charge(id, charge)).payment.state).toBe('settled')
      }
      const third = await signWithPermit(buyer)
      expect(await strict.authorize(third)).toMatchObject({ outcome: 'refused', reason: 'gas_sponsoring_spent' })
      expect((await strict.verify(third)).body).toMatchObject({ invalidReason: 'gas_sponsoring_spent' })
      await authorize(await signWithPermit(await newBuyer(devnet)), strict)
    } finally {
      await strict.close()
    }
  })

  test('works for payments that settle in batches', async () => {
    const batching = await run(ETHER, USDC_ADDRESS, { SETTLEMENT: 'batch' })
    try {
      const authorized: Payment[] = []
      for (const buyer of [await newBuyer(devnet), await newBuyer(devnet), await newBuyer(devnet)]) {
        authorized.push(await authorize(await signWithPermit(buyer), batching))
      }
      const charged = await Promise.all(authorized.map(({ id }) => batching.charge(id, '40000')))
      expect(charged.map(({ payment }) => payment.state)).toEqual(['settled', 'settled', 'settled'])
      // The first may be sent alone; the others are a batch, from the signer to itself.
      const sent = await Promise.all(
        charged.map(({ payment }) => rpc(devnet.rpcUrl, 'eth_getTransactionByHash', [payment.transaction])),
      )
      const batched = (sent as { from: string; to: string }[]).filter(({ from, to }) => from === to)
      expect(batched.length).toBeGreaterThanOrEqual(2)
    } finally {
      await batching.close()
    }
  })

  test('is not offered for a token without EIP-2612, or without dailySponsoredGas', async () => {
    const token = '0x00000000000000000000000000000000000070ce'
    await rpc(devnet.rpcUrl, 'anvil_setCode', [token, readArtifact('TestToken').deployedBytecode])
    for (const other of [await run(ETHER, token), await runBilling(devnet.rpcUrl, await store.variables())]) {
      try {
        expect((await other.send('/supported')).body).toMatchObject({ extensions: ['bazaar'] })
      } finally {
        await other.close()
      }
    }
  })

  async function functionOf({ transaction }: Payment): Promise<string> {
    const { input } = (await rpc(devnet.rpcUrl, 'eth_getTransactionByHash', [transaction])) as { input: Hex }
    return decodeFunctionData({ abi: x402UptoPermit2ProxyABI, data: input }).functionName
  }
})

/** Well-formed, but signed by nobody. */
function forgedSignature() {
  return { signature: `0x${'11'.repeat(64)}1b` }
}

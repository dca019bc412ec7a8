import {
  DEVNET_ACCOUNTS,
  DEVNET_ROLES,
  type DevnetAccount,
  fundBuyer,
  readArtifact,
  USDC_ADDRESS,
} from '@upfront/devnet'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import { createPublicClient, createTestClient, createWalletClient, type Hex, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { rpc } from './support/on-chain.js'
import { makeSmartWallet, type SmartWallet } from './support/smart-wallet.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'

const PRICE = '2500'
const OTHER = `0x${'12'.repeat(20)}`
type Fields = Record<string, unknown>
type Body = { signature: string; authorization?: Fields; permit2Authorization?: Fields }
type Payer = Parameters<typeof sign>[1]

/** Kinds of payments; `fields` are all fields that the buyer's signature covers. */
const KINDS = [
  {
    scheme: 'upto',
    method: 'permit2',
    fields: ['from', 'token', 'amount', 'spender', 'nonce', 'deadline', 'to', 'facilitator', 'validAfter'],
    unsigned: 'invalid_permit2_signature',
    undeployed: 'invalid_permit2_signature',
    used: 'permit2_invalid_nonce',
    nothing: 'permit2_invalid_amount',
    takesWrapped: false,
  },
  {
    scheme: 'exact',
    method: 'permit2',
    fields: ['from', 'token', 'amount', 'spender', 'nonce', 'deadline', 'to', 'validAfter'],
    unsigned: 'invalid_permit2_signature',
    undeployed: 'invalid_permit2_signature',
    used: 'permit2_invalid_nonce',
    nothing: 'permit2_invalid_amount',
    takesWrapped: false,
  },
  {
    scheme: 'exact',
    method: 'eip3009',
    fields: ['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'],
    unsigned: 'invalid_exact_evm_signature',
    undeployed: 'eip6492_factory_not_allowed',
    used: 'invalid_exact_evm_nonce_already_used',
    nothing: 'invalid_exact_evm_authorization_value',
    takesWrapped: true,
  },
] as const

/** Another plausible value of the same form. */
function change(field: string, value: unknown): string {
  if (field === 'nonce' && String(value).startsWith('0x')) return `0x${'11'.repeat(32)}`
  if (/^0x/.test(String(value))) return field === 'from' ? DEVNET_ROLES.seller.address : OTHER
  return String(BigInt(String(value)) + (field === 'validAfter' ? -1n : 1n))
}

function mutate(payload: PaymentPayload, field: string): PaymentPayload {
  const copy = structuredClone(payload)
  const body = copy.payload as unknown as Body
  const signed = (body.authorization ?? body.permit2Authorization) as Fields
  const parts = [signed, signed.permitted, signed.witness] as (Fields | undefined)[]
  const part = parts.find((one) => one !== undefined && field in one)
  if (part === undefined) throw new Error(`${field} is not signed`)
  part[field] = change(field, part[field])
  return copy
}

describe.each(oneStore())('the published security checks of /verify and /settle, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)
  let safe: SmartWallet
  let undeployed: SmartWallet
  const own = DEVNET_ACCOUNTS[7] as DevnetAccount

  const earned = () => usdcBalance(stand.devnet, SELLER)
  const count = async () => ((await stand.billing.send('/payments?limit=200')).body as { payments: [] }).payments.length
  /** Expects that /verify and /settle refuse, and that neither ledger nor balance changes. */
  const refuses = async (payload: PaymentPayload, requirements = payload.accepted, reason?: string) => {
    const before = [await count(), await earned()]
    const verified = await stand.billing.verify(payload, requirements)
    expect(verified.body).toMatchObject({ isValid: false, ...(reason === undefined ? {} : { invalidReason: reason }) })
    const settled = await stand.billing.settle(payload, requirements.amount, requirements)
    expect(settled.body).toMatchObject({ success: false, transaction: '' })
    expect([await count(), await earned()]).toEqual(before)
  }

  beforeAll(async () => {
    if (store.missing !== null) return
    const { rpcUrl } = stand.devnet
    safe = await makeSmartWallet(rpcUrl, 1n)
    await safe.deploy()
    await safe.fund(1_000_000n)
    undeployed = await makeSmartWallet(rpcUrl, 2n)
    await fundBuyer(rpcUrl, own)
    await delegate(own)
  })

  /** Delegates by EIP-7702: the account then has code, which accepts what its key signs. */
  async function delegate(account: DevnetAccount): Promise<void> {
    const transport = http(stand.devnet.rpcUrl)
    const contractAddress = '0x0000000000000000000000000000000000007702'
    const { deployedBytecode: bytecode } = readArtifact('OwnKeyAccount')
    await createTestClient({ mode: 'anvil', transport }).setCode({ address: contractAddress, bytecode })
    const wallet = createWalletClient({ account: privateKeyToAccount(account.privateKey), chain: foundry, transport })
    const authorization = await wallet.signAuthorization({ contractAddress, executor: 'self' })
    const hash = await wallet.sendTransaction({ to: account.address, authorizationList: [authorization] })
    await createPublicClient({ transport }).waitForTransactionReceipt({ hash })
    expect(await rpc(stand.devnet.rpcUrl, 'eth_getCode', [account.address, 'latest'])).toMatch(/^0xef0100/)
  }

  describe.each(KINDS)('$scheme by $method', ({ scheme, method, fields, unsigned, undeployed: reason, ...kind }) => {
    const offer = (maximum = PRICE, payTo: string = SELLER) => makeRequirements({ scheme, method, maximum, payTo })
    const settle = async (payload: PaymentPayload) => (await stand.billing.settle(payload, PRICE)).body

    test.each(fields)('refuses a payment that was signed with another %s', async (field) => {
      const payload = mutate(await sign(offer()), field)
      await refuses(payload)
      // Also if the seller's offer is changed to match.
      const moved = { to: { payTo: OTHER }, amount: { amount: '2501' }, value: { amount: '2501' } }[field as 'to']
      const requirements = { ...payload.accepted, ...moved }
      await refuses({ ...payload, accepted: requirements }, requirements)
    })

    test.each<[string, Partial<PaymentRequirements>]>([
      ['a higher price', { amount: '2501' }],
      ['a lower price', { amount: '2499' }],
      ['nothing', { amount: '0' }],
      ['another recipient', { payTo: OTHER }],
      ['another token', { asset: OTHER }],
      ['another chain', { network: 'eip155:1' }],
      ['the other scheme', { scheme: scheme === 'upto' ? 'exact' : 'upto' }],
    ])('refuses a payment that does not match an offer of %s', async (_, terms) => {
      const payload = await sign(offer())
      const requirements = { ...payload.accepted, ...terms } as PaymentRequirements
      // With upto the seller decides the amount, up to the maximum.
      if (scheme === 'upto' && ['2499', '0'].includes(requirements.amount)) {
        expect((await stand.billing.verify(payload, requirements)).body).toMatchObject({ isValid: false })
        return
      }
      await refuses(payload, requirements)
    })

    test('refuses an authorization of zero', async () => {
      await refuses(await sign(offer('0')), undefined, kind.nothing)
    })

    test.each<[string, () => Payer]>([
      ['an account', () => DEVNET_ROLES.buyer],
      ['a contract (ERC-1271)', () => safe.signer],
      ['a delegated account (EIP-7702)', () => own],
    ])('settles a payment signed by %s once, under 5 concurrent calls and a repeat', async (_, payer) => {
      const before = await earned()
      const payload = await sign(offer(), payer())
      expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: true })
      const answers = await Promise.all(Array.from({ length: 5 }, () => settle(payload)))
      expect(answers.filter((answer) => (answer as { success: boolean }).success)).toHaveLength(1)
      expect((await earned()) - before).toBe(BigInt(PRICE))
      await refuses(payload, undefined, kind.used)
    })

    test.each<[string, () => Payer]>([
      ['a contract', () => safe.signer],
      ['a delegated account', () => own],
    ])('refuses a signature that %s rejects', async (_, payer) => {
      const payload = await sign(offer(), payer())
      const { signature } = payload.payload as unknown as Body
      const forged = {
        ...payload,
        payload: { ...payload.payload, signature: `0x${'22'.repeat(64)}${signature.slice(-2)}` },
      }
      await refuses(forged as PaymentPayload, undefined, unsigned)
      await refuses({ ...payload, payload: { ...payload.payload, signature: '0x12' } }, undefined, unsigned)
    })

    /** The answer of x402's own facilitator, which allows no ERC-6492 factory unless its operator lists it. */
    const reference = async (payload: PaymentPayload) => {
      const account = privateKeyToAccount(DEVNET_ROLES.facilitators[0].privateKey)
      const transport = http(stand.devnet.rpcUrl)
      const client = createWalletClient({ account, chain: foundry, transport }).extend(publicActions)
      // It simulates through Multicall3, which this chain lacks: make each call separately.
      const alone = ({ target: to, callData: data }: { target: Hex; callData: Hex }) =>
        client.call({ to, data }).then(
          ({ data: returnData = '0x' }) => ({ success: true, returnData }),
          () => ({ success: false, returnData: '0x' }),
        )
      const readContract = (read: Parameters<typeof client.readContract>[0]) =>
        read.functionName === 'tryAggregate'
          ? Promise.all((read.args as [boolean, Parameters<typeof alone>[0][]])[1].map(alone))
          : client.readContract(read)
      const signer = toFacilitatorEvmSigner({ ...client, readContract, address: account.address } as never)
      const facilitator = scheme === 'upto' ? new UptoEvmScheme(signer) : new ExactEvmScheme(signer)
      const { isValid, invalidReason } = await facilitator.verify(payload, payload.accepted)
      return isValid ? { isValid } : { isValid, invalidReason }
    }

    test('refuses a wallet that is not deployed, and never calls the factory that ERC-6492 names', async () => {
      const payload = await sign(offer(), undeployed.signer)
      await refuses(payload, undefined, unsigned)
      const before = await rpc(stand.devnet.rpcUrl, 'eth_blockNumber', [])
      await refuses(wrapped(payload, undeployed), undefined, reason)
      expect(await reference(wrapped(payload, undeployed))).toEqual({ isValid: false, invalidReason: reason })
      expect(await rpc(stand.devnet.rpcUrl, 'eth_blockNumber', [])).toBe(before)
    })

    test(`${kind.takesWrapped ? 'accepts' : 'refuses'} an ERC-6492 wrapped signature of a deployed wallet`, async () => {
      const payload = wrapped(await sign(offer(), safe.signer), safe)
      expect((await stand.billing.verify(payload)).body).toMatchObject(await reference(payload))
      if (!kind.takesWrapped) return refuses(payload, undefined, unsigned)
      expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: true })
      expect(await settle(payload)).toMatchObject({ success: true })
    })
  })

  function wrapped(payload: PaymentPayload, wallet: SmartWallet): PaymentPayload {
    const { signature } = payload.payload as unknown as { signature: Hex }
    return { ...payload, payload: { ...payload.payload, signature: wallet.wrap(signature) } }
  }

  test('refuses a token that is not configured with unsupported_asset', async () => {
    expect(USDC_ADDRESS.toLowerCase()).not.toBe(OTHER)
    const requirements = { ...makeRequirements({ scheme: 'exact', maximum: PRICE }), asset: OTHER }
    await refuses(await sign(requirements), requirements, 'unsupported_asset')
  })
})

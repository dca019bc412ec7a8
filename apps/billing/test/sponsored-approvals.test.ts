import { DEVNET_ROLES, type Devnet, type FaultProxy, readArtifact, startDevnet, startFaultProxy } from '@upfront/devnet'
import { APPROVAL_SPONSORING, GAS_SPONSORING, type Payment } from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import {
  createTestClient,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  http,
  maxUint256,
  parseTransaction,
  publicActions,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { PERMIT2 } from '../src/chain/settlement-call.js'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER } from './support/buyer.js'
import { newBuyer } from './support/new-buyer.js'
import { rpc } from './support/on-chain.js'
import type { RunningBilling } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const ETHER = 10n ** 18n
/** It takes no permits. */
const TOKEN = '0x00000000000000000000000000000000000070ce'
/** The OP stack's, which tells what publishing a transaction costs. */
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000F'

const SIGNER = DEVNET_ROLES.facilitators[0].address

interface Info {
  from: string
  asset: string
  spender: string
  amount: string
  signedTransaction: string
}

describe.each(oneStore())('sponsored approvals, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let node: FaultProxy
  let variables: Record<string, string>
  let billing: RunningBilling
  /** What the signer held at first, wei. */
  let held: bigint

  const chain = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) }).extend(publicActions)

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    devnet = await startDevnet()
    node = await startFaultProxy(devnet.rpcUrl)
    await rpc(devnet.rpcUrl, 'anvil_setCode', [TOKEN, readArtifact('TestToken').deployedBytecode])
    variables = await store.variables()
    held = await chain().getBalance({ address: SIGNER })
    billing = await run()
  })
  afterAll(async () => {
    await billing?.close()
    await node?.stop()
    await devnet?.stop()
    await store.stop()
  })

  async function run({
    payer = ETHER,
    signer = ETHER,
    ledger = variables,
    rpcUrl = node.url,
  } = {}): Promise<RunningBilling> {
    const tokens = { [TOKEN]: { name: 'Test', version: '1', decimals: 6 } }
    const budgets = { dailyApprovalGas: `${payer}`, dailyApprovalGasPerSigner: `${signer}` }
    const CHAINS = JSON.stringify({ 'eip155:31337': { rpcUrl, tokens, dailySponsoredGas: `${ETHER}`, ...budgets } })
    return runBilling(devnet.rpcUrl, { RECOVERY_INTERVAL_MS: '200', ...ledger, CHAINS })
  }

  /** As the official client does it by itself where the offer names the extension. */
  async function signWithApproval(
    account: PrivateKeyAccount,
    change: (info: Info) => unknown = () => undefined,
  ): Promise<PaymentPayload> {
    const scheme = new UptoEvmScheme(account, { rpcUrl: devnet.rpcUrl })
    const requirements = { ...makeRequirements(), asset: TOKEN }
    const signed = await scheme.createPaymentPayload(2, requirements, {
      extensions: { [APPROVAL_SPONSORING]: { info: {} } },
    })
    const info = (signed.extensions as Record<string, { info: Info }> | undefined)?.[APPROVAL_SPONSORING]?.info
    if (info !== undefined) await change(info)
    return { ...signed, accepted: requirements } as PaymentPayload
  }

  async function authorize(payload: PaymentPayload): Promise<Payment> {
    const result = await billing.authorize(payload)
    if (result.outcome !== 'authorized') throw new Error(`refused: ${result.reason} ${result.message}`)
    return result.payment
  }

  /** A transaction by the buyer, past billing. */
  async function send(buyer: PrivateKeyAccount, transaction: object): Promise<void> {
    const fees = await chain().estimateFeesPerGas()
    const raw = await buyer.signTransaction({ type: 'eip1559', chainId: 31337, ...transaction, ...fees })
    await rpc(devnet.rpcUrl, 'eth_sendRawTransaction', [raw])
  }

  const untilSettled = (id: string) =>
    until(
      () => billing.payment(id),
      ({ state }) => state === 'settled',
    )

  async function eventsOf(id: string): Promise<{ kind: string; data: Record<string, string> }[]> {
    return (
      (await billing.send(`/payments/${id}`)).body as { events: { kind: string; data: Record<string, string> }[] }
    ).events
  }

  const received = () =>
    chain().readContract({ address: TOKEN, abi: erc20Abi, functionName: 'balanceOf', args: [SELLER] })

  test('are offered for a token that takes no permits', async () => {
    const gasSponsoring = { [TOKEN]: APPROVAL_SPONSORING }
    expect((await billing.send('/supported')).body).toMatchObject({
      extensions: [APPROVAL_SPONSORING],
      kinds: [{ extra: { gasSponsoring } }],
    })
    expect((await billing.send('/supported')).body).not.toMatchObject({ extensions: [GAS_SPONSORING] })
  })

  test('let an account without ETH pay: it is sent what the approval lacks, and nothing the next time', async () => {
    const buyer = await newBuyer(devnet, TOKEN)
    const before = await received()
    const payload = await signWithApproval(buyer)
    expect((await billing.verify(payload)).body).toMatchObject({ isValid: true })
    const first = await authorize(payload)
    expect((await billing.charge(first.id, '70000')).payment).toMatchObject({ state: 'settled', charge: 70_000n })
    expect((await received()) - before).toBe(70_000n)
    const funded = (await eventsOf(first.id)).filter(({ kind }) => kind === 'approval funded')
    expect(funded).toHaveLength(1)
    expect(BigInt(funded[0]?.data.value ?? 0)).toBe(costOf(payload))

    const again = await signWithApproval(buyer)
    expect(again.extensions).toBeUndefined()
    const second = await authorize(again)
    expect((await billing.charge(second.id, '5')).payment.state).toBe('settled')
    expect((await eventsOf(second.id)).map(({ kind }) => kind)).not.toContain('approval funded')
    expect(await chain().getTransactionCount({ address: buyer.address })).toBe(1)
  })

  test('fund only what is lacking, with what an OP-stack chain asks for publishing', async () => {
    const buyer = await newBuyer(devnet, TOKEN)
    // It always answers 40,000 wei: PUSH4 0x9c40, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN.
    await rpc(devnet.rpcUrl, 'anvil_setCode', [GAS_PRICE_ORACLE, '0x6300009c405f5260205ff3'])
    try {
      await chain().setBalance({ address: buyer.address, value: 1_000n })
      const payload = await signWithApproval(buyer)
      const { id } = await authorize(payload)
      expect((await billing.charge(id, '6')).payment.state).toBe('settled')
      const funded = (await eventsOf(id)).find(({ kind }) => kind === 'approval funded')
      expect(BigInt(funded?.data.value ?? 0)).toBe(costOf(payload) + 50_000n - 1_000n)
    } finally {
      await rpc(devnet.rpcUrl, 'anvil_setCode', [GAS_PRICE_ORACLE, '0x'])
    }
  })

  test('fund nobody who holds enough, and serve strangers over /settle', async () => {
    const buyer = await newBuyer(devnet, TOKEN)
    await chain().setBalance({ address: buyer.address, value: ETHER })
    expect((await billing.settle(await signWithApproval(buyer), '9')).body).toMatchObject({ success: true })
    const { body } = await billing.send(`/payments?payer=${buyer.address}`)
    const [payment] = (body as { payments: { id: string }[] }).payments
    expect((await eventsOf(payment?.id ?? '')).map(({ kind }) => kind)).not.toContain('approval funded')
  })

  test('cost a signer what it sent, beside gas', async () => {
    const buyer = await newBuyer(devnet, TOKEN)
    const payload = await signWithApproval(buyer)
    const { id } = await authorize(payload)
    await billing.charge(id, '1')
    const spent = async () => {
      const { accounts } = (await billing.send('/accounts')).body as { accounts: { account: string; amount: string }[] }
      return BigInt(accounts.find(({ account }) => account === 'gas')?.amount ?? 0)
    }
    // All that billing has sent so far is in this ledger.
    const left = await chain().getBalance({ address: SIGNER })
    await until(spent, (amount) => amount === held - left)
  })

  test('take one payment with an approval at a time', async () => {
    const buyer = await newBuyer(devnet, TOKEN)
    const both = [await signWithApproval(buyer), await signWithApproval(buyer)]
    const results = await Promise.all(both.map((payload) => billing.authorize(payload)))
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['authorized', 'refused'])
    expect(results).toContainEqual(expect.objectContaining({ reason: 'permit2_allowance_required' }))
  })

  describe('refuse, and send nothing for,', () => {
    /** The payer's transaction, changed in something. */
    const signed = (change: object, call: { spender?: Hex; amount?: bigint; data?: Hex } = {}) => {
      return async (info: Info, buyer: PrivateKeyAccount) => {
        const { maxFeePerGas, maxPriorityFeePerGas } = await chain().estimateFeesPerGas()
        const { spender = PERMIT2, amount = maxUint256 } = call
        const data = call.data ?? approve(amount, spender)
        info.amount = `${amount}`
        info.signedTransaction = await buyer.signTransaction({
          ...{
            type: 'eip1559',
            chainId: 31337,
            nonce: 0,
            to: TOKEN,
            data,
            gas: 70_000n,
            maxFeePerGas,
            maxPriorityFeePerGas,
          },
          ...change,
        } as Parameters<PrivateKeyAccount['signTransaction']>[0])
      }
    }
    const unfit = 'erc20_approval_tx_unfit'
    test.each<[string, string, (info: Info, buyer: PrivateKeyAccount) => unknown]>([
      ['another owner', 'erc20_approval_from_mismatch', (info) => Object.assign(info, { from: SELLER })],
      ['another token', 'erc20_approval_asset_mismatch', (info) => Object.assign(info, { asset: SELLER })],
      ['another spender', 'erc20_approval_spender_not_permit2', (info) => Object.assign(info, { spender: SELLER })],
      ['an amount in hex', 'invalid_erc20_approval_extension_format', (info) => Object.assign(info, { amount: '0x1' })],
      [
        'half a byte',
        'invalid_erc20_approval_extension_format',
        (info) => Object.assign(info, { signedTransaction: '0x1' }),
      ],
      [
        'bytes that are none',
        'erc20_approval_tx_parse_failed',
        (info) => Object.assign(info, { signedTransaction: '0x02c0' }),
      ],
      [
        'one by somebody else',
        'erc20_approval_tx_signer_mismatch',
        async (info) => signed({})(info, await newBuyer(devnet, TOKEN)),
      ],
      ['one to another contract', 'erc20_approval_tx_wrong_target', signed({ to: SELLER })],
      ['one for another spender', 'erc20_approval_tx_wrong_spender', signed({}, { spender: SELLER })],
      ['one of too little', 'erc20_approval_tx_invalid_calldata', signed({}, { amount: 99_999n })],
      [
        'one of another amount than is said',
        'erc20_approval_tx_invalid_calldata',
        async (info, buyer) => {
          await signed({})(info, buyer)
          info.amount = '100000'
        },
      ],
      [
        'a transfer',
        'erc20_approval_tx_invalid_calldata',
        signed(
          {},
          {
            data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [SELLER, 1n] }),
          },
        ),
      ],
      [
        'further calldata',
        'erc20_approval_tx_invalid_calldata',
        signed(
          {},
          {
            data: `${approve(maxUint256)}00`,
          },
        ),
      ],
      [
        'a legacy transaction',
        'erc20_approval_tx_parse_failed',
        signed({
          ...{ type: 'legacy', gasPrice: 2_000_000_000n, maxFeePerGas: undefined, maxPriorityFeePerGas: undefined },
        }),
      ],
      ['another chain', unfit, signed({ chainId: 1 })],
      ['value', unfit, signed({ value: 1n })],
      ['an access list', unfit, signed({ accessList: [{ address: SELLER, storageKeys: [] }] })],
      ['much gas', unfit, signed({ gas: 100_001n })],
      ['too little gas', 'permit2_simulation_failed', signed({ gas: 22_000n })],
      ['a later nonce', unfit, signed({ nonce: 1 })],
      ['a high fee', unfit, signed({ maxFeePerGas: 10n ** 12n })],
      ['a fee below the base fee', unfit, signed({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n })],
    ])('%s as %s', async (_, reason, change) => {
      const buyer = await newBuyer(devnet, TOKEN)
      const payload = await signWithApproval(buyer, (info) => change(info, buyer))
      expect(await billing.authorize(payload)).toMatchObject({ outcome: 'refused', reason })
      expect((await billing.verify(payload)).body).toMatchObject({ isValid: false, invalidReason: reason })
    })

    test('an account with code', async () => {
      const buyer = await newBuyer(devnet, TOKEN)
      await rpc(devnet.rpcUrl, 'anvil_setCode', [buyer.address, `0xef0100${SELLER.slice(2)}`])
      const result = await billing.authorize(await signWithApproval(buyer))
      expect(result.outcome).toBe('refused')
    })
  })

  test('end where the budget of a payer or a signer is used up, and count nothing that was given up', async () => {
    const buyer = await newBuyer(devnet, TOKEN)
    const payload = await signWithApproval(buyer)
    const { maxFeePerGas } = await chain().estimateFeesPerGas()
    // An approval and its funding, at fees that may rise a little.
    const one = costOf(payload) + 30_000n * maxFeePerGas
    const ledger = await store.variables()
    const strict = await run({ payer: (one * 3n) / 2n, signer: (one * 5n) / 2n, ledger })
    const pay = async (payload: PaymentPayload) => {
      const result = await strict.authorize(payload)
      if (result.outcome !== 'authorized') throw new Error(result.message)
      expect((await strict.charge(result.payment.id, '3')).payment.state).toBe('settled')
    }
    const refused = { outcome: 'refused', reason: 'gas_sponsoring_spent' }
    try {
      const other = await signWithApproval(await newBuyer(devnet, TOKEN))
      const given = await strict.authorize(other)
      if (given.outcome !== 'authorized') throw new Error(given.message)
      await strict.release(given.payment.id, 'failed')
      await pay(payload)
      // Its approval is taken back, so that it needs another.
      await chain().setBalance({ address: buyer.address, value: ETHER })
      await send(buyer, { nonce: 1, to: TOKEN, data: approve(0n), gas: 70_000n })
      await chain().setBalance({ address: buyer.address, value: 0n })
      const again = await signWithApproval(buyer)
      expect(await strict.authorize(again)).toMatchObject(refused)
      expect((await strict.verify(again)).body).toMatchObject({ invalidReason: refused.reason })
      await pay(await signWithApproval(await newBuyer(devnet, TOKEN)))
      expect(await strict.authorize(await signWithApproval(await newBuyer(devnet, TOKEN)))).toMatchObject(refused)
    } finally {
      await strict.close()
    }
  })

  describe('step by step', () => {
    beforeEach(() => chain().setAutomine(false))
    afterEach(() => chain().setAutomine(true))

    /** Authorized and charged, with nothing mined since. */
    async function charge(): Promise<{ id: string; payload: PaymentPayload; buyer: PrivateKeyAccount }> {
      await chain().setAutomine(true)
      const buyer = await newBuyer(devnet, TOKEN)
      await chain().setAutomine(false)
      const payload = await signWithApproval(buyer)
      const { id } = await authorize(payload)
      node.sent.splice(0)
      await billing.charge(id, '20000', { waitMilliseconds: 0 })
      return { id, payload, buyer }
    }
    const restart = async () => {
      await billing.close()
      billing = await run()
    }
    const distinct = () => new Set(node.sent).size

    test('go on after an end of the process between any two of them, and after answers that were lost', async () => {
      const before = await received()
      const fail = (fault: 'reset' | 'reset-after') => {
        node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? fault : undefined)
      }
      // Stored, and never sent.
      fail('reset')
      const { id, payload } = await charge()
      await until(
        () => eventsOf(id),
        (events) => events.some(({ kind }) => kind === 'approval funded'),
      )
      await restart()
      // Passed on to the node, and not answered.
      fail('reset-after')
      await until(async () => distinct() === 1)
      await restart()
      await chain().mine({ blocks: 1 })
      await until(async () => distinct() === 2)
      await restart()
      await chain().mine({ blocks: 1 })
      await until(async () => distinct() === 3)
      await restart()
      node.faultOf = undefined
      await chain().mine({ blocks: 1 })
      await untilSettled(id)
      expect((await received()) - before).toBe(20_000n)
      expect(node.sent).toContain(infoOf(payload).signedTransaction)
      // The funding, the approval, the settlement.
      expect(distinct()).toBe(3)
      expect((await eventsOf(id)).filter(({ kind }) => kind === 'approval funded')).toHaveLength(1)
    })

    test('end for a payer whose approval does not follow: it is refused from then on', async () => {
      const { id, buyer } = await charge()
      await until(async () => distinct() === 1)
      await billing.close()
      await chain().mine({ blocks: 1 })
      // It keeps the ETH: another transaction takes the approval's nonce.
      await send(buyer, { nonce: 0, to: SELLER, value: 1n, gas: 21_000n })
      await chain().mine({ blocks: 1 })
      billing = await run()
      await until(
        () => eventsOf(id),
        (events) => events.some(({ kind }) => kind === 'approval did not follow'),
        () => chain().mine({ blocks: 1 }),
      )
      expect(distinct()).toBe(1)
      await chain().setBalance({ address: buyer.address, value: ETHER })
      expect(await billing.authorize(await signWithApproval(buyer))).toMatchObject({ reason: 'payer_refused' })
    })
  })

  test('are not offered where payments settle in batches, nor by a node without eth_simulateV1', async () => {
    const batching = await run({ ledger: { ...(await store.variables()), SETTLEMENT: 'batch' } })
    node.lacks.add('eth_simulateV1')
    const lacking = await run({ ledger: await store.variables() })
    node.lacks.clear()
    try {
      for (const other of [batching, lacking]) {
        expect((await other.send('/supported')).body).toMatchObject({ extensions: [] })
      }
    } finally {
      await batching.close()
      await lacking.close()
    }
  })
})

function approve(amount: bigint, spender: Hex = PERMIT2): Hex {
  return encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, amount] })
}

/** Wei that nodes ask a payer to hold for its approval. */
function costOf(payload: PaymentPayload): bigint {
  const { gas = 0n, maxFeePerGas = 0n } = parseTransaction(infoOf(payload).signedTransaction as `0x02${string}`)
  return gas * maxFeePerGas
}

function infoOf({ extensions }: PaymentPayload): Info {
  return (extensions as Record<string, { info: Info }>)[APPROVAL_SPONSORING]?.info as Info
}

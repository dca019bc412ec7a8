import { USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { createWalletClient, type Hex, http } from 'viem'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { makeSmartWallet, PERMIT2, type SmartWallet } from './support/smart-wallet.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

/** The same payload under another signature. */
function withSignature(payload: PaymentPayload, change: (signature: Hex) => Hex): PaymentPayload {
  const { signature } = payload.payload as { signature: Hex }
  return { ...payload, payload: { ...payload.payload, signature: change(signature) } }
}

describe.each(oneStore())('a buyer whose account is a contract, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  // Cheap enough that a charge of a cent pays for a wallet's signatures.
  const stand = useStand(store, { prepare: () => setBaseFee(10_000_000n) })
  let wallet: SmartWallet

  const setBaseFee = async (baseFeePerGas: bigint) => {
    await anvil().setNextBlockBaseFeePerGas({ baseFeePerGas })
    await anvil().mine({ blocks: 1 })
  }
  const { anvil } = stand
  /** A payer with this code that holds test USDC and has approved Permit2. */
  const putContract = async (address: Hex, bytecode: Hex) => {
    await anvil().setCode({ address, bytecode })
    await anvil().setBalance({ address, value: 10n ** 18n })
    await anvil().impersonateAccount({ address })
    const sender = createWalletClient({ account: address, transport: http(stand.devnet.rpcUrl) })
    const usdc = { chain: null, address: USDC_ADDRESS, abi: usdcAbi, gas: 100_000n } as const
    await sender.writeContract({ ...usdc, functionName: 'mint', args: [address, 1_000_000n] })
    await sender.writeContract({ ...usdc, functionName: 'approve', args: [PERMIT2, 1_000_000n] })
  }

  beforeAll(async () => {
    if (store.missing !== null) return
    wallet = await makeSmartWallet(stand.devnet.rpcUrl, 1n)
    await wallet.deploy()
    await wallet.fund(1_000_000n)
  })

  test('pays with the signature of its owner, checked by ERC-1271', async () => {
    const before = await usdcBalance(stand.devnet, SELLER)
    const payload = await sign(makeRequirements(), wallet.signer)
    const authorized = await stand.billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(`${authorized.reason}: ${authorized.message}`)
    const { payment } = await stand.billing.charge(authorized.payment.id, '12345')
    expect(payment).toMatchObject({ state: 'settled', charge: 12_345n, payer: wallet.address.toLowerCase() })
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 12_345n)
    expect(await stand.billing.authorize(payload)).toMatchObject({ reason: 'permit2_invalid_nonce' })
  })

  test('pays through /verify and /settle', async () => {
    const payload = await sign(makeRequirements(), wallet.signer)
    expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: true })
    expect((await stand.billing.settle(payload, '77')).body).toMatchObject({ success: true, amount: '77' })
  })

  test('is refused for a forged or malformed signature', async () => {
    const payload = await sign(makeRequirements(), wallet.signer)
    const otherByte = (signature: string) => (signature.endsWith('ab1b') ? 'cd' : 'ab')
    const forged = withSignature(payload, (signature) => `0x${signature.slice(2, -4)}${otherByte(signature)}1b`)
    for (const wrong of [forged, withSignature(payload, () => '0x00')]) {
      expect(await stand.billing.authorize(wrong)).toMatchObject({ reason: 'invalid_permit2_signature' })
    }
    expect(await stand.billing.authorize(payload)).toMatchObject({ outcome: 'authorized' })
  })

  test('is refused before it is deployed, with a message that names ERC-6492', async () => {
    const counterfactual = await makeSmartWallet(stand.devnet.rpcUrl, 2n)
    const payload = await sign(makeRequirements(), counterfactual.signer)
    const wrapped = withSignature(payload, counterfactual.wrap)
    const refused = { outcome: 'refused', reason: 'invalid_permit2_signature' }
    expect(await stand.billing.authorize(payload)).toMatchObject(refused)
    expect(await stand.billing.authorize(wrapped)).toMatchObject({
      ...refused,
      message: expect.stringContaining('ERC-6492'),
    })
    expect((await stand.billing.verify(wrapped)).body).toMatchObject({
      isValid: false,
      invalidReason: refused.reason,
      invalidMessage: expect.stringContaining('ERC-6492'),
    })
    // Once deployed, Permit2 accepts the bare signature, but still not the wrapped one.
    await counterfactual.deploy()
    await counterfactual.fund(1_000_000n)
    expect(await stand.billing.authorize(wrapped)).toMatchObject(refused)
    expect(await stand.billing.authorize(payload)).toMatchObject({ outcome: 'authorized' })
  })

  test('is refused if its isValidSignature burns too much gas', async () => {
    const address = '0x00000000000000000000000000000000000b0b0b'
    // 131,072 rounds of a loop, then the magic value of isValidSignature.
    const burnAndAgree = '0x620200005b6001900380600457631626ba7e60e01b60005260206000f3'
    await putContract(address, burnAndAgree)
    const signer = { address, signTypedData: async (): Promise<Hex> => '0x1234' } as const
    expect(await stand.billing.authorize(await sign(makeRequirements(), signer))).toMatchObject({ outcome: 'refused' })
    // Only the gas makes the difference: with a single round it is authorized.
    await anvil().setCode({ address, bytecode: burnAndAgree.replace('62020000', '62000001') as Hex })
    const { outcome } = await stand.billing.authorize(await sign(makeRequirements(), signer))
    expect(outcome).toBe('authorized')
  })

  test('is refused with payer_code_too_costly once its charges do not cover the gas of its contract', async () => {
    const address = '0x00000000000000000000000000000000000b0b1b'
    // 3,584 rounds: some 100,000 gas.
    const burnAndAgree = '0x62000e005b6001900380600457631626ba7e60e01b60005260206000f3'
    await putContract(address, burnAndAgree)
    const signer = { address, signTypedData: async (): Promise<Hex> => '0x1234' } as const
    const pay = async (amount: string) => {
      await setBaseFee(10_000_000n)
      const authorized = await stand.billing.authorize(await sign(makeRequirements(), signer))
      if (authorized.outcome !== 'authorized') return authorized.reason
      return (await stand.billing.charge(authorized.payment.id, amount)).payment.state
    }
    const unpaid: string[] = []
    do unpaid.push(await pay('5'))
    while (unpaid.at(-1) === 'settled' && unpaid.length < 6)
    expect([unpaid[0], unpaid.at(-1)]).toEqual(['settled', 'payer_code_too_costly'])
    // A charge worth the gas of ten signatures, at $3,000 per native coin.
    const other = '0x00000000000000000000000000000000000b0b2b'
    await putContract(other, burnAndAgree)
    Object.assign(signer, { address: other })
    for (const amount of ['100000', '5', '5', '5', '5', '5']) expect(await pay(amount)).toBe('settled')
  })

  test('is not settled if its code becomes more expensive after authorization', async () => {
    const address = '0x00000000000000000000000000000000000b0b3b'
    // 4,096 rounds: some 115,000 gas.
    const burnAndAgree = '0x620010005b6001900380600457631626ba7e60e01b60005260206000f3'
    await putContract(address, burnAndAgree.replace('62001000', '62000001') as Hex)
    const signer = { address, signTypedData: async (): Promise<Hex> => '0x1234' } as const
    const authorized = await stand.billing.authorize(await sign(makeRequirements(), signer))
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    await anvil().setCode({ address, bytecode: burnAndAgree })
    const { payment } = await stand.billing.charge(authorized.payment.id, '5')
    expect(payment).toMatchObject({ transaction: null, doubt: 'permit2_simulation_failed' })
  })

  test('is refused if its contract accepts signatures only at a gas price of zero', async () => {
    const address = '0x00000000000000000000000000000000000ca511'
    // GASPRICE ISZERO PUSH1 6 JUMPI INVALID JUMPDEST, then the magic value of isValidSignature.
    await putContract(address, '0x3a15600657fe5b631626ba7e60e01b60005260206000f3')
    const signer = { address, signTypedData: async (): Promise<Hex> => '0x1234' } as const
    expect(await stand.billing.authorize(await sign(makeRequirements(), signer))).toMatchObject({ outcome: 'refused' })
  })

  test('is refused with payer_refused once its contract has burned gas on chain', async () => {
    const address = '0x00000000000000000000000000000000000b0b0c'
    const agree = '0x631626ba7e60e01b60005260206000f3'
    await putContract(address, agree)
    const signer = { address, signTypedData: async (): Promise<Hex> => '0x1234' } as const
    const authorized = await stand.billing.authorize(await sign(makeRequirements(), signer))
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    const { id } = authorized.payment
    const test = anvil()
    await test.setAutomine(false)
    await stand.billing.charge(id, '5', { waitMilliseconds: 0 })
    const inPool = () => test.request({ method: 'txpool_status' } as never) as Promise<{ pending: Hex }>
    await until(inPool, ({ pending }) => BigInt(pending) === 1n)
    // INVALID takes all gas that is left.
    await test.setCode({ address, bytecode: '0xfe' })
    await test.mine({ blocks: 1 })
    await test.setAutomine(true)
    await until(
      () => stand.billing.payment(id),
      ({ state }) => state === 'failed',
      () => test.mine({ blocks: 1 }),
    )
    await test.setCode({ address, bytecode: agree })
    const refused = { outcome: 'refused', reason: 'payer_refused' }
    expect(await stand.billing.authorize(await sign(makeRequirements(), signer))).toMatchObject(refused)
    // No further transaction was sent.
    const { body } = await stand.billing.send(`/payments/${id}`)
    expect((body as { transactions: unknown[] }).transactions).toHaveLength(1)
  })

  test('is refused if its ERC-6492 wrapping does not decode', async () => {
    const magic = '6492'.repeat(16)
    const payload = withSignature(await sign(makeRequirements(), wallet.signer), () => `0x${'00'.repeat(40)}${magic}`)
    expect(await stand.billing.authorize(payload)).toMatchObject({ reason: 'invalid_permit2_signature' })
    expect((await stand.billing.settle(payload, '1')).body).toMatchObject({ success: false })
  })
})

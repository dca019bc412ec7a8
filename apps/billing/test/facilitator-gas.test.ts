import { USDC_ADDRESS } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { concatHex, numberToHex } from 'viem'
import { sign } from './support/buyer.js'
import { settlementPromise } from './support/on-chain.js'
import { useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const BASE_FEE = 1_000_000_000n
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000f'

describe.each(oneStore())('gas limits and node requests, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store, { settings: null })
  const { anvil, describePayment } = stand
  const run = async (variables: NodeJS.ProcessEnv = {}, chain: Record<string, string> = {}) => {
    const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
    const CHAINS = JSON.stringify({ 'eip155:31337': { rpcUrl: stand.node.url, tokens, ...chain } })
    await stand.run({ CHAINS, recoveryMs: '200', ...variables })
  }
  const mineWithBaseFee = async (baseFeePerGas: bigint) => {
    await anvil().setNextBlockBaseFeePerGas({ baseFeePerGas })
    await anvil().mine({ blocks: 1 })
  }

  test('refuses a forged signature with one eth_getCode and no eth_call', async () => {
    await run()
    const payload = structuredClone(await sign()) as PaymentPayload
    const other = (await sign()).payload as { signature: string }
    Object.assign(payload.payload, { signature: other.signature })
    // From then on the token's code is cached.
    expect((await stand.billing.verify(await sign())).body).toMatchObject({ isValid: true })
    stand.node.reset()
    const { body } = await stand.billing.verify(payload)
    expect(body).toMatchObject({ isValid: false, invalidReason: 'invalid_permit2_signature' })
    const { eth_call: calls = 0, eth_getCode: codes = 0 } = stand.node.stats.byMethod
    expect({ calls, codes }).toEqual({ calls: 0, codes: 1 })
  })

  test('waits while gas is above maxFeePerGas, reports that, and settles once gas is cheaper', async () => {
    await run({ receiptWaitMs: '500' }, { maxFeePerGas: (2n * BASE_FEE).toString() })
    await mineWithBaseFee(3n * BASE_FEE)
    await until(async () => String((await stand.billing.send('/metrics')).body).includes('for="cheaper gas"} 1'))
    const payload = await sign()
    expect((await stand.billing.settle(payload, '1000')).body).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      errorMessage: 'the settlement waits for cheaper gas',
    })
    const { id } = await stand.billing.authorizeNew()
    await stand.billing.charge(id, '1000', { waitMilliseconds: 0 })
    expect(await describePayment(id)).toMatchObject({ payment: { state: 'charging' }, waitsFor: 'cheaper gas' })
    await mineWithBaseFee(BASE_FEE)
    await until(async () => (await stand.billing.payment(id)).state === 'settled')
    expect(await describePayment(id)).toMatchObject({ waitsFor: null })
  })

  test('stops signing, reports that, and refuses payments once the dailyGasBudget is spent', async () => {
    await mineWithBaseFee(BASE_FEE / 100n)
    await run(
      { minSettlements: '1', feeBumpMs: '500' },
      { dailyGasBudget: ((await settlementPromise(stand.devnet)) * 4n).toString() },
    )
    const [spent, { id }] = [await stand.billing.authorizeNew(), await stand.billing.authorizeNew()]
    // Settlements that were promised at a low fee become expensive: the first takes the whole budget.
    await mineWithBaseFee(BASE_FEE)
    await until(async () => (await stand.billing.authorize(await sign())).outcome === 'refused')
    expect((await stand.billing.charge(spent.id, '1000')).payment.state).toBe('settled')
    await until(async () => String((await stand.billing.send('/metrics')).body).includes('for="gas budget"} 1'))
    const { payment } = await stand.billing.charge(id, '1000', { waitMilliseconds: 300 })
    expect(payment.state).toBe('charging')
    expect(await describePayment(id)).toMatchObject({ waitsFor: 'gas budget' })
    // New payments are refused as well.
    expect(await stand.billing.authorize(await sign())).toMatchObject({ reason: 'facilitator_out_of_gas' })
  })

  test('authorizes no more payments than the dailyGasBudget covers in addition to those in flight', async () => {
    await mineWithBaseFee(BASE_FEE / 100n)
    await run({ minSettlements: '1' }, { dailyGasBudget: ((await settlementPromise(stand.devnet)) * 3n).toString() })
    await anvil().setAutomine(false)
    try {
      const first = await stand.billing.authorizeNew()
      await stand.billing.charge(first.id, '1000', { waitMilliseconds: 0 })
      await until(async () => (await stand.billing.payment(first.id)).state === 'submitted')
      const outcomes = [await stand.billing.authorize(await sign()), await stand.billing.authorize(await sign())]
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['authorized', 'authorized'])
      expect(await stand.billing.authorize(await sign())).toMatchObject({ reason: 'facilitator_out_of_gas' })
    } finally {
      await anvil().setAutomine(true)
      await anvil().mine({ blocks: 1 })
    }
  })

  test('counts the L1 fee of an OP-stack chain against the dailyGasBudget', async () => {
    await mineWithBaseFee(BASE_FEE / 100n)
    const plain = await settlementPromise(stand.devnet)
    // `getL1Fee` of the predeploy returns the price of a settlement's gas; billing adds a quarter in case it rises.
    const code = concatHex(['0x7f', numberToHex(plain, { size: 32 }), '0x5f5260205ff3'])
    await anvil().setCode({ address: GAS_PRICE_ORACLE, bytecode: code })
    try {
      // The budget covers two settlements at 2.25 times the plain price each; without the L1 fee, five.
      await run({ minSettlements: '1' }, { dailyGasBudget: (plain * 5n).toString() })
      const outcomes = [await stand.billing.authorize(await sign()), await stand.billing.authorize(await sign())]
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['authorized', 'authorized'])
      expect(await stand.billing.authorize(await sign())).toMatchObject({ reason: 'facilitator_out_of_gas' })
    } finally {
      await anvil().setCode({ address: GAS_PRICE_ORACLE, bytecode: '0x' })
    }
  })

  test('waits for cheaper gas above the default maxFeePerGas of 4 gwei', async () => {
    await run({ receiptWaitMs: '500' })
    // One token, at $3,000 per native coin, for 83,300 gas: 4 gwei.
    await mineWithBaseFee(5n * BASE_FEE)
    await until(async () => String((await stand.billing.send('/metrics')).body).includes('for="cheaper gas"} 1'))
    const { id } = await stand.billing.authorizeNew()
    await stand.billing.charge(id, '1000', { waitMilliseconds: 0 })
    expect(await describePayment(id)).toMatchObject({ payment: { state: 'charging' }, waitsFor: 'cheaper gas' })
    await mineWithBaseFee(BASE_FEE)
    const { feePaid, gasUsed } = await until(
      () => stand.billing.payment(id),
      ({ state }) => state === 'settled',
    )
    expect(BigInt(feePaid ?? 0) / BigInt(gasUsed ?? 1)).toBeLessThan(4n * BASE_FEE)
  })
})

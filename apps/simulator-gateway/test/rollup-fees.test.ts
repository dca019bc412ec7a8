import { type Devnet, OP_GENESIS_FILE, startDevnet } from '@upfront/devnet'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type GatewayProcess, startGateway } from './gateway-process.js'

// Fees that calls pay to an OP-stack chain on top of gas: `fees: true` of upfront_simulate.

const L1_BLOCK = `0x42${'0'.repeat(36)}15`
const L1_FEE_VAULT = `0x42${'0'.repeat(36)}1a`
const OPERATOR_FEE_VAULT = `0x42${'0'.repeat(36)}1b`
const TO = `0xb0${'0'.repeat(37)}1`
const slot = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
const account = privateKeyToAccount(`0x${'51'.repeat(32)}`)
const sender = account.address.toLowerCase()

describe('rollupFees on an OP-stack chain', () => {
  let devnet: Devnet
  let gateway: GatewayProcess

  beforeAll(async () => {
    devnet = await startDevnet({ payments: false, optimism: true })
    gateway = await startGateway({ UPSTREAM_RPC_URL: devnet.rpcUrl, CHAIN_GENESIS_FILE: OP_GENESIS_FILE })
  })
  afterAll(async () => {
    await gateway?.stop()
    await devnet?.stop()
  })

  const stateOverrides = {
    [sender]: { balance: '0x56bc75e2d63100000' },
    // L1's base fee, the scalars, the blob base fee, and the operator's scalar and constant.
    [L1_BLOCK]: {
      stateDiff: {
        [slot(1)]: slot(2_000_000_000),
        [slot(3)]: `0x${'0'.repeat(32)}000f424000000558${'0'.repeat(16)}`,
        [slot(7)]: slot(1_000_000),
        [slot(8)]: `0x${'0'.repeat(40)}000003e800000000000186a0`,
      },
    },
  }

  async function simulate(calls: unknown[], payload: object = { fees: true }) {
    const shown = { stateDiff: true, ...payload }
    const { result, error } = await gateway.call('upfront_simulate', [
      { blockStateCalls: [{ stateOverrides, calls }], ...shown },
      'latest',
    ])
    expect(error).toBeUndefined()
    // biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
    return (result as any)[0].calls
  }
  const paidTo = (call: { stateDiff: Record<string, { balance?: { from: Hex; to: Hex } }> }, vault: string) => {
    const { from = '0x0', to = '0x0' } = call.stateDiff[vault]?.balance ?? {}
    return BigInt(to) - BigInt(from)
  }

  it('come with upfront_estimateGas, whose gas suffices', async () => {
    const call = { from: sender, to: TO, input: `0x${'12'.repeat(300)}` }
    const { result } = await gateway.call<{ gas: Hex; gasUsed: Hex; rollupFees: object }>('upfront_estimateGas', [
      ...[call, 'latest', stateOverrides],
    ])
    const [simulated] = await simulate([{ ...call, gas: result!.gas }])
    expect(result!.gasUsed).toBe(simulated.gasUsed)
    expect(Number(simulated.rollupFees.l1Fee)).toBeGreaterThan(0)
    expect(Object.keys(result!.rollupFees)).toEqual(Object.keys(simulated.rollupFees))
    const poor = { ...call, from: TO, value: '0x1' }
    expect((await gateway.call('upfront_estimateGas', [poor])).error).toMatchObject({
      code: expect.any(Number),
      message: expect.stringMatching(/insufficient funds/),
    })
  })

  it('are what the call pays, signed or not', async () => {
    const priced = { from: sender, to: TO, input: `0x${'12'.repeat(300)}`, gas: '0x30000', gasPrice: '0x3b9aca00' }
    const raw = await account.signTransaction({
      chainId: 31337,
      type: 'eip1559',
      nonce: 1,
      gas: 100_000n,
      to: TO as Hex,
      maxFeePerGas: 10n ** 9n,
      maxPriorityFeePerGas: 1n,
    })
    const calls = await simulate([priced, raw])
    for (const call of calls) {
      expect(call.rollupFees).toEqual({
        l1Fee: `0x${paidTo(call, L1_FEE_VAULT).toString(16)}`,
        operatorFee: `0x${paidTo(call, OPERATOR_FEE_VAULT).toString(16)}`,
        isEstimate: true,
      })
      expect(paidTo(call, L1_FEE_VAULT)).toBeGreaterThan(0n)
      expect(paidTo(call, OPERATOR_FEE_VAULT)).toBeGreaterThan(0n)
    }
  })

  it('are reported for a call without a gas price, which pays none', async () => {
    const [call] = await simulate([{ from: sender, to: TO }])
    expect(paidTo(call, L1_FEE_VAULT)).toBe(0n)
    expect(BigInt(call.rollupFees.l1Fee)).toBeGreaterThan(0n)
    expect(BigInt(call.rollupFees.operatorFee)).toBeGreaterThan(0n)
  })

  it('are absent unless requested', async () => {
    const [call] = await simulate([{ from: sender, to: TO }], {})
    expect(call.rollupFees).toBeUndefined()
  })
})

it('rollupFees are absent on other chains', async () => {
  const devnet = await startDevnet({ payments: false })
  const gateway = await startGateway({ UPSTREAM_RPC_URL: devnet.rpcUrl })
  try {
    const { result } = await gateway.call('upfront_simulate', [
      { blockStateCalls: [{ calls: [{ to: TO }] }], fees: true },
      'latest',
    ])
    expect((result as { calls: object[] }[])[0]?.calls[0]).not.toHaveProperty('rollupFees')
  } finally {
    await gateway.stop()
    await devnet.stop()
  }
})

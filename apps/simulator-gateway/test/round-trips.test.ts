import {
  DEVNET_ROLES,
  type Devnet,
  type FaultProxy,
  startDevnet,
  startFaultProxy,
  swapRouterAbi,
  TEST_TOKEN_SLOTS,
  testTokenAbi,
} from '@upfront/devnet'
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  numberToHex,
  parseEther,
  zeroAddress,
} from 'viem'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

// What an answer costs behind a distant node is how often the node is asked one time after another.
const READS = /^eth_(getBalance|getTransactionCount|getCode|getStorageAt)$/

describe.each(['revm', 'ethereumjs'] as const)('reading what was never seen, with %s', (engine) => {
  let devnet: Devnet
  let proxy: FaultProxy
  let gateway: GatewayProcess
  const trader = DEVNET_ROLES.deployer.address

  beforeEach(async () => {
    devnet = await startDevnet({ payments: false, uniswap: true })
    proxy = await startFaultProxy(devnet.rpcUrl)
    // So that the reads of one moment arrive before the answer to any of them leaves.
    proxy.latencyMs = 40
    gateway = await startGateway()
  }, 180_000)
  afterEach(async () => {
    await gateway?.stop()
    await proxy?.stop()
    await devnet?.stop()
  })

  const startGateway = (environment: Record<string, string> = {}) =>
    startGatewayProcess({ UPSTREAM_RPC_URL: proxy.url, EVM_ENGINE: engine, FOLLOW_HEAD: 'off', ...environment })

  interface SimulatedBlock {
    calls: { status: string; error?: unknown }[]
  }

  /** HTTP requests that read state for the simulation, all calls of which have to succeed. */
  async function roundTrips(...blockStateCalls: object[]): Promise<number> {
    proxy.reset()
    const { result, error } = await gateway.call<SimulatedBlock[]>('eth_simulateV1', [{ blockStateCalls }, 'latest'])
    expect(error).toBeUndefined()
    for (const { calls } of result!) for (const call of calls) expect(call).toMatchObject({ status: '0x1' })
    return proxy.stats.methods.filter((methods) => methods.some((method) => READS.test(method))).length
  }

  const hints = () => (proxy.stats.byMethod.debug_traceCall ?? 0) + (proxy.stats.byMethod.eth_createAccessList ?? 0)

  function swap(from: Address): object {
    const { router, poolV3, token0 } = devnet.uniswap!
    const args = [poolV3, token0, parseEther('1'), 0n, from] as const
    return { from, to: router, data: encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV3', args }) }
  }

  function swapBack(): object {
    const { router, pairV2, token1 } = devnet.uniswap!
    const args = [pairV2, token1, parseEther('1'), 0n, trader] as const
    return { from: trader, to: router, data: encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV2', args }) }
  }

  /** A swap by somebody who has what overrides give and nothing else. */
  function strangersSwap(stranger: Address): object {
    const { router, token0 } = devnet.uniswap!
    const rich = numberToHex(2n ** 128n, { size: 32 })
    const stateDiff = {
      [mapped(stranger, TEST_TOKEN_SLOTS.balanceOf)]: rich,
      [mapped(router, mapped(stranger, TEST_TOKEN_SLOTS.allowance))]: rich,
    }
    return {
      stateOverrides: { [stranger]: { balance: '0xde0b6b3a7640000' }, [token0]: { stateDiff } },
      calls: [swap(stranger)],
    }
  }

  it('takes two for the first swap, and one for another sender, on any block', async () => {
    expect(await roundTrips({ calls: [swap(trader)] })).toBeLessThanOrEqual(2)
    expect(hints()).toBe(1)
    expect(await roundTrips(strangersSwap(numberToHex(0xf1n, { size: 20 })))).toBeLessThanOrEqual(1)
    expect(hints()).toBe(0)
    await fetch(devnet.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'evm_mine', params: [] }),
    })
    expect(await roundTrips({ calls: [swap(trader)] })).toBeLessThanOrEqual(3)
    expect(hints()).toBe(0)
  }, 180_000)

  it('takes at most six for a hundred mixed calls, whether or not the node gives hints', async () => {
    const { token0, token1 } = devnet.uniswap!
    const token = (functionName: 'transfer' | 'approve' | 'balanceOf', to: Address, args: readonly unknown[]) => ({
      from: trader,
      to,
      data: encodeFunctionData({ abi: testTokenAbi, functionName, args } as Parameters<typeof encodeFunctionData>[0]),
    })
    const calls = Array.from({ length: 100 }, (_, index) => {
      const other = numberToHex(0xc100n + BigInt(index), { size: 20 })
      switch (index % 6) {
        case 0:
          return { from: trader, to: other, value: '0x1' }
        case 1:
          return token('transfer', token0, [other, 1n])
        case 2:
          return swap(trader)
        case 3:
          return swapBack()
        case 4:
          return token('approve', token1, [other, 1n])
        default:
          return token('balanceOf', token1, [other])
      }
    })
    expect(await roundTrips({ calls })).toBeLessThanOrEqual(6)
    expect(hints()).toBe(1)
    await gateway.stop()
    gateway = await startGateway({ HINTS: 'off' })
    expect(await roundTrips({ calls })).toBeLessThanOrEqual(6)
    expect(hints()).toBe(0)
  }, 180_000)

  it('takes one for a thousand accounts that are overridden', async () => {
    const accounts = Array.from({ length: 1_000 }, (_, index) => numberToHex(0xf2_0000n + BigInt(index), { size: 20 }))
    const stateOverrides = Object.fromEntries(accounts.map((account) => [account, { balance: '0x1' }]))
    const calls = [{ from: trader, to: zeroAddress, value: '0x1' }]
    expect(await roundTrips({ stateOverrides, calls })).toBe(1)
  }, 60_000)
})

function mapped(key: Address, slot: bigint | Hex): Hex {
  return keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [key, BigInt(slot)]))
}

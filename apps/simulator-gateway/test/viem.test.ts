import { type Devnet, startDevnet, swapRouterAbi, testTokenAbi, type UniswapContracts } from '@upfront/devnet'
import { createPublicClient, http, parseEther } from 'viem'
import { foundry } from 'viem/chains'
import { type GatewayProcess, startGateway } from './gateway-process.js'

let devnet: Devnet
let uniswap: UniswapContracts
let gateway: GatewayProcess

beforeAll(async () => {
  devnet = await startDevnet({ payments: false, uniswap: true })
  uniswap = devnet.uniswap!
  gateway = await startGateway({ UPSTREAM_RPC_URL: devnet.rpcUrl })
})
afterAll(async () => {
  await gateway?.stop()
  await devnet?.stop()
})

const clientOf = (url: string) => createPublicClient({ chain: foundry, transport: http(url) })
const NOBODY = '0x00000000000000000000000000000000000d0b0d'

describe.each(['', '/ethereum'])("viem's client at /%s", (query) => {
  it('simulateBlocks passes state and time from block to block', async () => {
    const to = devnet.accounts.deployer.address
    const pay = (ether: string) => ({ account: NOBODY, to, value: parseEther(ether) }) as const
    const [first, second] = await clientOf(gateway.url + query).simulateBlocks({
      blocks: [
        { stateOverrides: [{ address: NOBODY, balance: parseEther('2') }], calls: [pay('1.5')] },
        { blockOverrides: { time: 4_000_000_000n }, calls: [pay('0.4'), pay('0.05')] },
      ],
    })
    const head = await clientOf(devnet.rpcUrl).getBlock()
    expect(first).toMatchObject({ number: head.number + 1n, parentHash: head.hash, timestamp: head.timestamp + 12n })
    expect(second).toMatchObject({ number: head.number + 2n, parentHash: first?.hash, timestamp: 4_000_000_000n })
    const results = [...(first?.calls ?? []), ...(second?.calls ?? [])]
    expect(results.map(({ status, gasUsed }) => [status, gasUsed])).toEqual(Array(3).fill(['success', 21_000n]))
  })

  it('simulateCalls returns results and asset changes', async () => {
    const { address } = devnet.accounts.deployer
    const amount = parseEther('10')
    const swap = {
      abi: swapRouterAbi,
      functionName: 'swapV3',
      args: [uniswap.poolV3, uniswap.token0, amount, 0n, address],
      to: uniswap.router,
    } as const
    const sent = await clientOf(devnet.rpcUrl).simulateContract({ account: address, address: uniswap.router, ...swap })
    const { assetChanges, results } = await clientOf(gateway.url + query).simulateCalls({
      account: address,
      calls: [{ to: NOBODY, value: parseEther('1.5') }, swap],
      traceAssetChanges: true,
    })
    expect(results.map(({ status }) => status)).toEqual(['success', 'success'])
    expect(results[1]?.result).toBe(sent.result)
    const changes = new Map(
      assetChanges.map(({ token, value }) => [token.address.toLowerCase(), [token.symbol, value.diff]]),
    )
    const eth = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
    expect(changes.get(eth)).toEqual(['ETH', -parseEther('1.5')])
    expect(changes.get(uniswap.token0.toLowerCase())?.[1]).toBe(-amount)
    expect(changes.get(uniswap.token1.toLowerCase())?.[1]).toBe(sent.result)
  })

  it('simulateCalls returns why a call failed', async () => {
    const { results } = await clientOf(gateway.url + query).simulateCalls({
      account: NOBODY,
      calls: [{ to: uniswap.token0, abi: testTokenAbi, functionName: 'transfer', args: [uniswap.token1, 1n] }],
    })
    expect(results[0]?.status).toBe('failure')
    expect(String(results[0]?.error)).toContain(query === '' ? '' : 'InsufficientBalance')
  })
})

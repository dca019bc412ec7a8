import { createPublicClient, http, parseEther } from 'viem'
import { DEVNET_ROLES, type Devnet, startDevnet, swapRouterAbi, type UniswapContracts } from '../src/index.js'

let devnet: Devnet
let uniswap: UniswapContracts

beforeAll(async () => {
  devnet = await startDevnet({ payments: false, uniswap: true })
  uniswap = devnet.uniswap as UniswapContracts
})
afterAll(() => devnet?.stop())

test.each(['swapV2', 'swapV3'] as const)(
  '%s swaps each token at a price of about 1, less the 0.3%% fee',
  async (swap) => {
    const client = createPublicClient({ transport: http(devnet.rpcUrl) })
    const pool = swap === 'swapV2' ? uniswap.pairV2 : uniswap.poolV3
    for (const tokenIn of [uniswap.token0, uniswap.token1]) {
      const { result } = await client.simulateContract({
        account: DEVNET_ROLES.deployer.address,
        address: uniswap.router,
        abi: swapRouterAbi,
        functionName: swap,
        args: [pool, tokenIn, parseEther('1'), 0n, DEVNET_ROLES.buyer.address],
      })
      expect(result).toBeGreaterThan(parseEther('0.9969'))
      expect(result).toBeLessThanOrEqual(parseEther('0.997'))
    }
  },
)

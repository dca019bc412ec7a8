import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Abi,
  type Address,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  maxUint256,
  parseAbi,
  parseEther,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { DEVNET_ROLES } from './accounts.js'
import { readArtifact } from './artifact.js'

const RECEIPT_TIMEOUT_MS = 60_000

const require = createRequire(import.meta.url)

/** Functions of the deployed swap contracts for tests and benchmarks. */
export const swapRouterAbi = parseAbi([
  'function swapV2(address pair, address tokenIn, uint256 amountIn, uint256 amountOutMinimum, address recipient) returns (uint256 amountOut)',
  'function swapV3(address pool, address tokenIn, uint256 amountIn, uint256 amountOutMinimum, address recipient) returns (uint256 amountOut)',
  'function mintV3(address pool, int24 tickLower, int24 tickUpper, uint128 liquidity, address recipient)',
  'error TooLittleReceived(uint256 amountOut, uint256 amountOutMinimum)',
])
export const testTokenAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'error InsufficientBalance(address account, uint256 balance, uint256 needed)',
])
const factoryV2Abi = parseAbi([
  'function createPair(address tokenA, address tokenB) returns (address pair)',
  'function getPair(address tokenA, address tokenB) view returns (address pair)',
])
const pairV2Abi = parseAbi(['function mint(address to) returns (uint256 liquidity)'])
const factoryV3Abi = parseAbi([
  'function createPool(address tokenA, address tokenB, uint24 fee) returns (address pool)',
  'function getPool(address tokenA, address tokenB, uint24 fee) view returns (address pool)',
])
const poolV3Abi = parseAbi(['function initialize(uint160 sqrtPriceX96)'])

/** Uniswap's v2 and v3 core contracts with two test tokens (18 decimals, storage layout of `contracts/TestToken.sol`). */
export interface UniswapContracts {
  /** token0 of both pools, because its address is lower. */
  token0: Address
  token1: Address
  router: Address
  factoryV2: Address
  pairV2: Address
  factoryV3: Address
  /** Fee 0.3%; liquidity over the full range and concentrated around the price 1. */
  poolV3: Address
}

/** Storage slots of `contracts/TestToken.sol`, for overrides. */
export const TEST_TOKEN_SLOTS = { name: 0n, symbol: 1n, totalSupply: 2n, balanceOf: 3n, allowance: 4n } as const

/**
 * Deploys Uniswap v2 and v3 with liquidity by ordinary transactions, on any node where the key's account is
 * funded. That account then holds both tokens and has approved the router.
 * @throws Error that names the step whose transaction reverted
 */
export async function deployUniswap(
  rpcUrl: string,
  privateKey: Hex = DEVNET_ROLES.deployer.privateKey,
): Promise<UniswapContracts> {
  const account = privateKeyToAccount(privateKey)
  const client = createPublicClient({ transport: http(rpcUrl) })
  const wallet = createWalletClient({ account, transport: http(rpcUrl) })
  let nonce = await client.getTransactionCount({ address: account.address, blockTag: 'pending' })

  /** Ignores errors in between: geth returns no receipts while it indexes a new block. */
  const receiptOf = async (step: string, hash: Hex) => {
    for (const until = Date.now() + RECEIPT_TIMEOUT_MS; Date.now() < until; await sleep(50)) {
      const receipt = await client.getTransactionReceipt({ hash }).catch(() => undefined)
      if (receipt !== undefined) return receipt
    }
    throw new Error(`deployUniswap: ${step} was not mined in ${hash}`)
  }
  const confirm = async (step: string, hash: Hex) => {
    const receipt = await receiptOf(step, hash)
    if (receipt.status !== 'success') throw new Error(`deployUniswap: ${step} reverted in ${hash}`)
    return receipt
  }
  const deploy = async (step: string, abi: Abi, bytecode: Hex, args: readonly unknown[] = []): Promise<Address> => {
    const hash = await wallet.deployContract({ chain: null, abi, bytecode, args: args as unknown[], nonce: nonce++ })
    const { contractAddress } = await confirm(step, hash)
    if (!contractAddress) throw new Error(`deployUniswap: ${step} made no contract in ${hash}`)
    return contractAddress
  }
  const send = async (step: string, to: Address, data: Hex) => {
    // The pools write more once the block's time has advanced, so the estimate alone may be too low.
    const gas = ((await client.estimateGas({ account, to, data })) * 3n) / 2n
    return confirm(step, await wallet.sendTransaction({ chain: null, to, data, gas, nonce: nonce++ }))
  }

  const token = readArtifact('TestToken')
  const a = await deploy('token', token.abi, token.bytecode, ['Wrapped Ether', 'WETH'])
  const b = await deploy('token', token.abi, token.bytecode, ['Test Dollar', 'TUSD'])
  const [token0, token1] = a.toLowerCase() < b.toLowerCase() ? [a, b] : [b, a]
  const routerArtifact = readArtifact('SwapRouter')
  const router = await deploy('router', routerArtifact.abi, routerArtifact.bytecode)

  for (const address of [token0, token1]) {
    const mint = { abi: testTokenAbi, functionName: 'mint', args: [account.address, parseEther('10000000')] } as const
    const approve = { abi: testTokenAbi, functionName: 'approve', args: [router, maxUint256] } as const
    await send('mint', address, encodeFunctionData(mint))
    await send('approve', address, encodeFunctionData(approve))
  }

  const v2 = require('@uniswap/v2-core/build/UniswapV2Factory.json') as { abi: Abi; bytecode: string }
  const factoryV2 = await deploy('v2 factory', v2.abi, `0x${v2.bytecode}`, [account.address])
  const tokens = [token0, token1] as const
  await send('v2 pair', factoryV2, encodeFunctionData({ abi: factoryV2Abi, functionName: 'createPair', args: tokens }))
  const pairV2 = await client.readContract({
    address: factoryV2,
    abi: factoryV2Abi,
    functionName: 'getPair',
    args: tokens,
  })
  for (const address of tokens) {
    const args = [pairV2, parseEther('1000000')] as const
    await send('v2 funding', address, encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args }))
  }
  await send(
    'v2 liquidity',
    pairV2,
    encodeFunctionData({ abi: pairV2Abi, functionName: 'mint', args: [account.address] }),
  )

  const v3 = require('@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json') as {
    abi: Abi
    bytecode: Hex
  }
  const factoryV3 = await deploy('v3 factory', v3.abi, v3.bytecode)
  const poolKey = [token0, token1, 3000] as const
  await send('v3 pool', factoryV3, encodeFunctionData({ abi: factoryV3Abi, functionName: 'createPool', args: poolKey }))
  const poolV3 = await client.readContract({
    address: factoryV3,
    abi: factoryV3Abi,
    functionName: 'getPool',
    args: poolKey,
  })
  const atPriceOne = 2n ** 96n
  await send('v3 price', poolV3, encodeFunctionData({ abi: poolV3Abi, functionName: 'initialize', args: [atPriceOne] }))
  // The pool's tick spacing is 60.
  for (const [tick, liquidity] of [
    [887220, parseEther('100000')],
    [600, parseEther('1000000')],
  ] as const) {
    const args = [poolV3, -tick, tick, liquidity, account.address] as const
    await send('v3 liquidity', router, encodeFunctionData({ abi: swapRouterAbi, functionName: 'mintV3', args }))
  }
  return { token0, token1, router, factoryV2, pairV2, factoryV3, poolV3 }
}

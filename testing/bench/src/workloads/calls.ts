import { swapRouterAbi, TEST_TOKEN_SLOTS, testTokenAbi } from '@upfront/devnet'
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  maxUint256,
  numberToHex,
  parseEther,
} from 'viem'
import type { SimulatedCall, Stage } from './workload.js'

/** An address unused on any chain; `kind` separates workloads and runs. */
export function unseenAddress(kind: number, index: number): Address {
  return numberToHex((0xf1n << 152n) | (runId << 96n) | (BigInt(kind) << 64n) | BigInt(index), { size: 20 })
}
const runId = BigInt(Date.now())

export const nativeTransfer = (stage: Stage): SimulatedCall => ({
  from: stage.trader,
  to: '0xc100000000000000000000000000000000000000',
  value: '0x1',
  gas: '0x5208',
})

export const tokenTransfer = (stage: Stage): SimulatedCall => ({
  from: stage.trader,
  to: stage.uniswap.token0,
  data: encodeFunctionData({
    abi: testTokenAbi,
    functionName: 'transfer',
    args: ['0xc100000000000000000000000000000000000000', 1n],
  }),
})

export const tokenApproval = (stage: Stage): SimulatedCall => ({
  from: stage.trader,
  to: stage.uniswap.token1,
  data: encodeFunctionData({ abi: testTokenAbi, functionName: 'approve', args: [stage.uniswap.router, maxUint256] }),
})

export const balanceQuery = (stage: Stage): SimulatedCall => ({
  from: stage.trader,
  to: stage.uniswap.token1,
  data: encodeFunctionData({ abi: testTokenAbi, functionName: 'balanceOf', args: [stage.trader] }),
})

/** Sells `amountIn` of token0 to the v3 pool. */
export function swapV3(stage: Stage, from: Address = stage.trader, amountIn = parseEther('1')): SimulatedCall {
  const { router, poolV3, token0 } = stage.uniswap
  const args = [poolV3, token0, amountIn, 0n, from] as const
  return { from, to: router, data: encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV3', args }) }
}

/** Sells one of token1 to the v2 pair. */
export function swapV2(stage: Stage): SimulatedCall {
  const { router, pairV2, token1 } = stage.uniswap
  const args = [pairV2, token1, parseEther('1'), 0n, stage.trader] as const
  return {
    from: stage.trader,
    to: router,
    data: encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV2', args }),
  }
}

/** Storage of token0 that lets `owner` sell it through the router: a huge balance and allowance. */
export function tradingSlots(stage: Stage, owner: Address): Record<Hex, Hex> {
  const mapped = (key: Address, slot: Hex | bigint) =>
    keccak256(
      encodeAbiParameters(
        [{ type: 'address' }, { type: 'bytes32' }],
        [key, typeof slot === 'bigint' ? numberToHex(slot, { size: 32 }) : slot],
      ),
    )
  const plenty = numberToHex(2n ** 128n, { size: 32 })
  return {
    [mapped(owner, TEST_TOKEN_SLOTS.balanceOf)]: plenty,
    [mapped(stage.uniswap.router, mapped(owner, TEST_TOKEN_SLOTS.allowance))]: plenty,
  }
}

// JUMPDEST, the body, repeated while more than 10,000 gas are left: GAS PUSH2 10000 LT PUSH1 0 JUMPI STOP.
const loop = (body: string): Hex => `0x5b${body}5a6127101060005700`
/** Ten times per iteration: PUSH1 3, PUSH1 5, MUL, PUSH1 7, ADD, PUSH1 3, SWAP1, DIV, POP. */
export const arithmeticLoop = loop('60036005026007016003900450'.repeat(10))
/** Ten times per iteration: PUSH1 32, PUSH1 0, KECCAK256, PUSH1 0, MSTORE. */
export const keccakLoop = loop('6020600020600052'.repeat(10))

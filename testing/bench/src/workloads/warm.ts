import { type Address, numberToHex } from 'viem'
import {
  arithmeticLoop,
  balanceQuery,
  keccakLoop,
  nativeTransfer,
  swapV2,
  swapV3,
  tokenApproval,
  tokenTransfer,
  tradingSlots,
  unseenAddress,
} from './calls.js'
import type { SimulationPayload, Stage, Workload } from './workload.js'

const LOOP_ADDRESS: Address = '0x100900000000000000000000000000000000c0de'
const LOOP_GAS = numberToHex(45_000_000)

const oneCall =
  (call: (stage: Stage) => object) =>
  (stage: Stage): SimulationPayload => ({ blockStateCalls: [{ calls: [call(stage)] }] })

const mixed = [nativeTransfer, tokenTransfer, swapV3, swapV2, tokenApproval, balanceQuery] as const

const loopOf =
  (code: `0x${string}`) =>
  (stage: Stage): SimulationPayload => ({
    blockStateCalls: [
      {
        stateOverrides: { [LOOP_ADDRESS]: { code } },
        calls: [{ from: stage.trader, to: LOOP_ADDRESS, gas: LOOP_GAS }],
      },
    ],
  })

/** Warm workloads, with the target ratios of issue 5. */
export const WARM_WORKLOADS: readonly Workload[] = [
  {
    name: 'transfer',
    title: 'one ETH transfer',
    targets: { anvil: 0.7, geth: 0.25 },
    payload: oneCall(nativeTransfer),
  },
  {
    name: 'erc20',
    title: 'one ERC-20 transfer',
    targets: { anvil: 0.7, geth: 0.25 },
    payload: oneCall(tokenTransfer),
  },
  {
    name: 'swap',
    title: 'Uniswap v3 swap',
    targets: { anvil: 0.6, geth: 0.32 },
    payload: oneCall((stage) => swapV3(stage)),
  },
  {
    name: 'unseen-sender',
    title: 'the swap, never-seen sender',
    targets: { anvil: 0.45, geth: 0.38 },
    payload(stage, index) {
      const sender = unseenAddress(1, index)
      return {
        blockStateCalls: [
          {
            stateOverrides: {
              [sender]: { balance: '0xde0b6b3a7640000' },
              [stage.uniswap.token0]: { stateDiff: tradingSlots(stage, sender) },
            },
            calls: [swapV3(stage, sender)],
          },
        ],
      }
    },
  },
  {
    name: 'mixed-100',
    title: '100 mixed calls',
    targets: { anvil: 0.75, geth: 0.45 },
    payload: (stage) => ({
      blockStateCalls: [{ calls: Array.from({ length: 100 }, (_, call) => mixed[call % mixed.length]?.(stage) ?? {}) }],
    }),
  },
  {
    name: 'blocks-20',
    title: '20 blocks with a swap each',
    targets: { anvil: 0.9, geth: 0.35 },
    payload: (stage) => ({ blockStateCalls: Array.from({ length: 20 }, () => ({ calls: [swapV3(stage)] })) }),
  },
  {
    name: 'blocks-256',
    title: '256 empty blocks',
    targets: { geth: 0.25 },
    payload: () => ({ blockStateCalls: Array.from({ length: 256 }, () => ({})) }),
  },
  {
    name: 'overrides-1000',
    title: '1,000 accounts overridden, never seen',
    targets: { anvil: 0.05, geth: 0.3 },
    concurrency: 1,
    payload: (stage, index) => unseenOverrides(stage, 2, index),
  },
  {
    name: 'loop-arithmetic',
    title: '45M gas arithmetic loop',
    targets: { anvil: 1.05, geth: 0.65 },
    concurrency: 1,
    payload: loopOf(arithmeticLoop),
  },
  {
    name: 'loop-keccak',
    title: '45M gas keccak loop',
    targets: { anvil: 1.05, geth: 0.65 },
    concurrency: 1,
    payload: loopOf(keccakLoop),
  },
  {
    name: 'transfers-5000',
    title: '5,000 transfers in one block',
    targets: { anvil: 0.85, geth: 0.3 },
    concurrency: 1,
    payload: (stage) => ({
      blockStateCalls: [
        {
          blockOverrides: { gasLimit: numberToHex(200_000_000) },
          calls: Array.from({ length: 5_000 }, () => nativeTransfer(stage)),
        },
      ],
    }),
  },
]

/** One transfer, with 1,000 overridden accounts that nothing touches. */
export function unseenOverrides(stage: Stage, kind: number, index: number): SimulationPayload {
  const accounts = Array.from({ length: 1_000 }, (_, account) => unseenAddress(kind, index * 1_000 + account))
  return {
    blockStateCalls: [
      {
        stateOverrides: Object.fromEntries(accounts.map((account) => [account, { balance: '0xde0b6b3a7640000' }])),
        calls: [nativeTransfer(stage)],
      },
    ],
  }
}

import { testTokenAbi } from '@upfront/devnet'
import { encodeFunctionData, numberToHex } from 'viem'
import { balanceQuery, nativeTransfer, swapV2, swapV3 } from '../workloads/calls.js'
import type { SimulatedCall, SimulationPayload, Stage } from '../workloads/workload.js'
import { post } from './client.js'

export interface Answer {
  /** From sending to the last byte. */
  milliseconds: number
  /** Unix time in milliseconds. */
  answeredAt: number
  /** The sealed block it used. */
  block: number
  calls: number
  /** Failed calls. On a consistent state there are none. */
  failed: number
}

const BUNDLE = 20
/** Recipients of tokens in the requests. */
export const RECIPIENTS = 500

/** The `index`-th request: swaps of many sizes, transfers to many accounts, and every 20th a bundle of 20. */
function requestOf(stage: Stage, index: number): SimulationPayload {
  if (index % 20 === 19)
    return {
      blockStateCalls: [{ calls: Array.from({ length: BUNDLE }, (_, call) => callOf(stage, index + 7 * call)) }],
    }
  return { blockStateCalls: [{ calls: [callOf(stage, index)] }] }
}

function callOf(stage: Stage, index: number): SimulatedCall {
  const recipient = numberToHex(10n ** 40n + BigInt((index * 7_919) % RECIPIENTS), { size: 20 })
  switch (index % 5) {
    case 0:
      return swapV3(stage, stage.trader, 10n ** 18n + BigInt(index))
    case 1:
      return {
        from: stage.trader,
        to: stage.uniswap.token1,
        data: encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args: [recipient, 1n] }),
      }
    case 2:
      return { ...nativeTransfer(stage), to: recipient }
    case 3:
      return swapV2(stage)
    default:
      return balanceQuery(stage)
  }
}

function counted(calls: readonly { status: string }[]): { calls: number; failed: number } {
  return { calls: calls.length, failed: calls.filter(({ status }) => status !== '0x1').length }
}

/** Sends `rate` requests per second for `seconds`, answered or not. @throws Error if one was rejected */
export async function send(url: string, stage: Stage, rate: number, seconds: number): Promise<Answer[]> {
  const bodies = Array.from({ length: Math.round(rate * seconds) }, (_, index) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [requestOf(stage, index), 'latest'] }),
  )
  return (await post({ url, bodies, rate })).map(({ milliseconds, answeredAt, head, body }) => {
    const { result } = JSON.parse(body) as { result?: { number: string; calls: { status: string }[] }[] }
    const [block] = result ?? []
    if (!block) throw new Error(`a simulation failed: ${head}\n\n${body.slice(0, 500)}`)
    return { milliseconds, answeredAt, block: Number(block.number) - 1, ...counted(block.calls) }
  })
}

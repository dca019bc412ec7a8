import { balanceQuery } from '../workloads/calls.js'
import type { Stage } from '../workloads/workload.js'
import { post } from './client.js'

/** Needs no state, so it shows the cost of everything else: client, HTTP, admission, and waiting for the CPU. */
export const FLOOR = 'eth_chainId'
export const READ_METHODS = ['eth_call', 'eth_getBalance', FLOOR] as const
type ReadMethod = (typeof READ_METHODS)[number]

/** One read at `latest`. */
export interface Read {
  method: ReadMethod
  milliseconds: number
  result: unknown
  /** The block it used, if the response says. */
  block: number | undefined
}

function paramsOf(method: ReadMethod, stage: Stage, block: string): unknown[] {
  if (method === FLOOR) return []
  if (method === 'eth_getBalance') return [stage.trader, block]
  const { from, to, data } = balanceQuery(stage)
  return [{ from, to, data }, block]
}

/** Reads each method at its block. @throws Error if one was rejected */
async function ask(
  url: string,
  stage: Stage,
  questions: readonly { method: ReadMethod; at: string }[],
  rate?: number,
): Promise<Read[]> {
  const bodies = questions.map(({ method, at }) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: paramsOf(method, stage, at) }),
  )
  return (await post({ url, bodies, rate })).map(({ milliseconds, head, body }, index) => {
    const { method } = questions[index]!
    const { result } = JSON.parse(body) as { result?: unknown }
    if (result === undefined) throw new Error(`${method} failed: ${head}`)
    const block = /\r\nupfront-state: .*block=(\d+)/i.exec(head)?.[1]
    return { method, milliseconds, result, block: block === undefined ? undefined : Number(block) }
  })
}

/**
 * Sends this many reads at `latest`, alternating between the methods.
 * @param rate reads per second; absent: each is sent once the previous one is answered
 * @throws Error if one was rejected
 */
export function sendReads(url: string, stage: Stage, count: number, rate?: number): Promise<Read[]> {
  const questions = Array.from({ length: count }, (_, index) => ({
    method: READ_METHODS[index % READ_METHODS.length]!,
    at: 'latest',
  }))
  return ask(url, stage, questions, rate)
}

/** Number of answers that differ from the node's at the same block. */
export async function countWrong(reads: readonly Read[], nodeUrl: string, stage: Stage): Promise<number> {
  const keyOf = ({ method, block }: Pick<Read, 'method' | 'block'>) => `${method} ${block}`
  const distinct = new Map(reads.filter(({ block }) => block !== undefined).map((read) => [keyOf(read), read]))
  const questions = [...distinct.values()].map(({ method, block }) => ({ method, at: `0x${block!.toString(16)}` }))
  const told = await ask(nodeUrl, stage, questions)
  const right = new Map([...distinct.keys()].map((key, index) => [key, told[index]!.result]))
  return reads.filter((read) => read.block !== undefined && right.get(keyOf(read)) !== read.result).length
}

import { Pool } from 'undici'
import { balanceQuery } from '../workloads/calls.js'
import type { Stage } from '../workloads/workload.js'

/** What needs no state shows what the way there and back takes: client, HTTP, admission, and whoever has the processor meanwhile. */
export const FLOOR = 'eth_chainId'
export const READ_METHODS = ['eth_call', 'eth_getBalance', FLOOR] as const
type ReadMethod = (typeof READ_METHODS)[number]

/** One read at `latest`. */
export interface Read {
  method: ReadMethod
  milliseconds: number
  result: unknown
  /** The block that it stands on, where the answer says so. */
  block: number | undefined
}

function paramsOf(method: ReadMethod, stage: Stage, block: string): unknown[] {
  if (method === FLOOR) return []
  if (method === 'eth_getBalance') return [stage.trader, block]
  const { from, to, data } = balanceQuery(stage)
  return [{ from, to, data }, block]
}

async function ask(pool: Pool, method: ReadMethod, params: unknown[]) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const response = await pool.request({ path: '/', method: 'POST', headers, body })
  const { result } = JSON.parse(await response.body.text()) as { result?: unknown }
  if (result === undefined) throw new Error(`${method} failed with HTTP ${response.statusCode}`)
  return { result, state: String(response.headers['upfront-state'] ?? '') }
}

async function read(pool: Pool, stage: Stage, index: number): Promise<Read> {
  const method = READ_METHODS[index % READ_METHODS.length]!
  const sent = performance.now()
  const { result, state } = await ask(pool, method, paramsOf(method, stage, 'latest'))
  const milliseconds = performance.now() - sent
  const block = /block=(\d+)/.exec(state)?.[1]
  return { method, milliseconds, result, block: block === undefined ? undefined : Number(block) }
}

/** Sends `rate` reads a second at `latest` for `seconds`, of each method in turn. @throws an Error where one was refused */
export async function sendReads(url: string, stage: Stage, rate: number, seconds: number): Promise<Read[]> {
  const pool = new Pool(url, { connections: 64 })
  const began = performance.now()
  try {
    return await Promise.all(
      Array.from({ length: Math.round(rate * seconds) }, async (_, index) => {
        const due = began + (1_000 * index) / rate
        await new Promise((resolve) => setTimeout(resolve, due - performance.now()))
        return read(pool, stage, index)
      }),
    )
  } finally {
    await pool.close()
  }
}

/** Sends as many reads at `latest`, each when the one before is answered. @throws an Error where one was refused */
export async function readInTurn(url: string, stage: Stage, count: number): Promise<Read[]> {
  const pool = new Pool(url, { connections: 1 })
  const reads: Read[] = []
  try {
    while (reads.length < count) reads.push(await read(pool, stage, reads.length))
    return reads
  } finally {
    await pool.close()
  }
}

/** How many of the answers are not what the node says at the block that they stand on. */
export async function countWrong(reads: readonly Read[], nodeUrl: string, stage: Stage): Promise<number> {
  const pool = new Pool(nodeUrl, { connections: 16 })
  const right = new Map<string, Promise<unknown>>()
  try {
    const wrong = await Promise.all(
      reads.map(async ({ method, block, result }) => {
        if (block === undefined) return false
        const key = `${method} ${block}`
        const params = paramsOf(method, stage, `0x${block.toString(16)}`)
        if (!right.has(key))
          right.set(
            key,
            ask(pool, method, params).then((answer) => answer.result),
          )
        return (await right.get(key)) !== result
      }),
    )
    return wrong.filter(Boolean).length
  } finally {
    await pool.close()
  }
}

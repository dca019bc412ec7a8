import { Pool } from 'undici'
import { cpuMilliseconds } from '../servers/process-usage.js'
import type { Server } from '../servers/server.js'
import type { SimulationPayload } from '../workloads/workload.js'

/** Results of a run; times in milliseconds. */
export interface Run {
  requests: number
  seconds: number
  cpu: number
  latencies: number[]
}

/** Sends one simulation on `latest`. @throws Error unless every call succeeded */
export async function simulate(pool: Pool, payload: SimulationPayload, method = 'eth_simulateV1'): Promise<string> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [payload, 'latest'] })
  const headers = { 'content-type': 'application/json' }
  const response = await pool.request({ path: '/', method: 'POST', headers, body })
  const text = await response.body.text()
  if (!text.includes('"result"') || text.includes('"status":"0x0"'))
    throw new Error(`a simulation failed with HTTP ${response.statusCode}: ${text.slice(0, 500)}`)
  return text
}

/** Sends `payload(0)`, `payload(1)`, … as fast as responses come, for at least `seconds`. */
export async function load(
  server: Server,
  payload: (index: number) => SimulationPayload,
  {
    seconds,
    concurrency,
    firstIndex = 0,
    method,
  }: { seconds: number; concurrency: number; firstIndex?: number; method?: string },
): Promise<Run> {
  const pool = new Pool(server.url, { connections: concurrency, headersTimeout: 120_000, bodyTimeout: 120_000 })
  const latencies: number[] = []
  let index = firstIndex
  await simulate(pool, payload(index++), method)
  const cpuBefore = cpuMilliseconds(server.pid)
  const began = performance.now()
  const worker = async () => {
    while (performance.now() - began < seconds * 1_000) {
      const body = payload(index++)
      const asked = performance.now()
      await simulate(pool, body, method)
      latencies.push(performance.now() - asked)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const elapsed = (performance.now() - began) / 1_000
  const cpu = cpuMilliseconds(server.pid) - cpuBefore
  await pool.close()
  return { requests: latencies.length, seconds: elapsed, cpu, latencies }
}

/** The value that `fraction` of the values don't exceed. */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN
}

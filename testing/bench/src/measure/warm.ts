import type { Server } from '../servers/server.js'
import type { Workload } from '../workloads/workload.js'
import { load, quantile, type Run } from './load.js'
import type { Stand } from './stand.js'

/** One server's figures on one workload; times in milliseconds. */
export interface Figures {
  cpuPerRequest: number
  p50: number
  p99: number
  requestsPerSecond: number
  requests: number
}

/** The figures by server name (`upfront`, `portable`, `anvil`, `geth`). */
export type Comparison = Record<string, Figures>

const WARM_UP_SECONDS = 3
/** V8 goes on optimizing our gateway for ten thousand requests, until one takes half as long; anvil and geth are as fast at once. */
const OUR_WARM_UP_SECONDS = 12

let nextIndex = 0

/**
 * Measures a workload on each server in turns, so that what else the machine does falls on all of them. The figures
 * are medians over the rounds; the first round only warms up.
 */
export async function compare(
  workload: Workload,
  stand: Stand,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<Comparison> {
  const ours = [stand.upfront, stand.portable]
  const servers = [...ours, stand.anvil, stand.geth].filter((server) => server !== undefined)
  const runs = new Map<Server, Run[]>(servers.map((server) => [server, []]))
  const warmUp = (server: Server) => (ours.includes(server) ? OUR_WARM_UP_SECONDS : WARM_UP_SECONDS)
  for (let round = 0; round <= rounds; round++)
    for (const server of servers) {
      const run = await load(server, (index) => workload.payload(stand.stage, index), {
        seconds: round === 0 ? warmUp(server) : seconds,
        concurrency: workload.concurrency ?? 4,
        firstIndex: nextIndex,
      })
      nextIndex += run.requests + 16
      if (round > 0) runs.get(server)?.push(run)
    }
  return Object.fromEntries([...runs].map(([server, ofServer]) => [server.name, summarize(ofServer)]))
}

function summarize(runs: readonly Run[]): Figures {
  const latencies = runs.flatMap((run) => run.latencies)
  const median = (value: (run: Run) => number) => quantile(runs.map(value), 0.5)
  return {
    cpuPerRequest: median((run) => run.cpu / run.requests),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    requestsPerSecond: median((run) => run.requests / run.seconds),
    requests: latencies.length,
  }
}

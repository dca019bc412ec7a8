import type { Server } from '../servers/server.js'
import type { Workload } from '../workloads/workload.js'
import { load, quantile, type Run } from './load.js'
import type { Stand } from './stand.js'

/** One server's results for one workload; times in milliseconds. */
export interface Figures {
  cpuPerRequest: number
  p50: number
  p99: number
  requestsPerSecond: number
  requests: number
}

/** Results by server name (`upfront`, `portable`, `anvil`, `geth`). */
export type Comparison = Record<string, Figures>

const WARM_UP_SECONDS = 3
/** V8 keeps optimizing our gateway for ten thousand requests, until each takes half as long. anvil and geth need no warm-up. */
const OUR_WARM_UP_SECONDS = 12

let nextIndex = 0

/**
 * Measures a workload on all servers in turns, so that other load on the machine affects them
 * alike. Results are medians over the rounds; the first round is a warm-up.
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

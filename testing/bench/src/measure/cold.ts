import { startFaultProxy } from '@upfront/devnet'
import { Pool } from 'undici'
import { startAnvilFork } from '../servers/anvil.js'
import { startGateway } from '../servers/gateway.js'
import type { Server } from '../servers/server.js'
import { swapV3 } from '../workloads/calls.js'
import { unseenOverrides, WARM_WORKLOADS } from '../workloads/warm.js'
import type { SimulationPayload, Stage } from '../workloads/workload.js'
import { simulate } from './load.js'
import type { Stand } from './stand.js'

/** Round trip to a hosted node, milliseconds. */
const ROUND_TRIP = 40
/** Methods by which a server finds the head. Not counted, because some servers call them before the request. */
const BLOCK_RESOLUTION =
  /^eth_(blockNumber|chainId|getBlockByNumber|getBlockByHash|getHeaderByNumber|getHeaderByHash|subscribe)$/

/** The first request of its kind, on a server that has read nothing yet. */
export interface ColdFigures {
  milliseconds: number
  /** HTTP requests to the node, except those that only resolve a block. */
  requests: number
  /** The methods of all of them. */
  methods: string[]
}

export interface ColdWorkload {
  name: string
  title: string
  targets: { requests?: number; timeOfAnvil?: number }
  payload(stage: Stage): SimulationPayload
}

const hundredMixed = WARM_WORKLOADS.find(({ name }) => name === 'mixed-100')

export const COLD_WORKLOADS: readonly ColdWorkload[] = [
  {
    name: 'cold-swap',
    title: 'first v3 swap',
    targets: { requests: 3, timeOfAnvil: 0.2 },
    payload: (stage) => ({ blockStateCalls: [{ calls: [swapV3(stage)] }] }),
  },
  {
    name: 'cold-mixed-100',
    title: 'first 100 mixed calls',
    targets: {},
    payload: (stage) => hundredMixed?.payload(stage, 0) ?? { blockStateCalls: [] },
  },
  {
    name: 'cold-overrides-1000',
    title: '1,000 accounts overridden, never seen',
    targets: { requests: 5 },
    payload: (stage) => unseenOverrides(stage, 3, 0),
  },
]

/** Runs the workload once on a fresh gateway and a fresh anvil fork, each with a node 40 ms away. */
export async function measureCold(workload: ColdWorkload, stand: Stand): Promise<Record<string, ColdFigures>> {
  const figures: Record<string, ColdFigures> = {}
  const starts: ((upstream: string) => Promise<Server>)[] = [startGateway, startAnvilFork]
  for (const start of starts) {
    const proxy = await startFaultProxy(stand.node.url)
    proxy.latencyMs = ROUND_TRIP
    const server = await start(proxy.url)
    const pool = new Pool(server.url, { headersTimeout: 300_000 })
    try {
      // By then its own requests at startup are done.
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      proxy.reset()
      const began = performance.now()
      await simulate(pool, workload.payload(stand.stage))
      const milliseconds = performance.now() - began
      const asked = proxy.stats.methods
      figures[server.name] = {
        milliseconds,
        requests: asked.filter((methods) => !methods.every((method) => BLOCK_RESOLUTION.test(method))).length,
        methods: asked.map(countEach),
      }
    } finally {
      await pool.destroy()
      await server.stop()
      await proxy.stop()
    }
  }
  return figures
}

/** For example `eth_getCode ×3, eth_getBalance`. */
function countEach(methods: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const method of methods) counts.set(method, (counts.get(method) ?? 0) + 1)
  return [...counts].map(([method, count]) => (count === 1 ? method : `${method} ×${count}`)).join(', ')
}

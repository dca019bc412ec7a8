import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { startGateway } from '../servers/gateway.js'
import { WARM_WORKLOADS } from '../workloads/warm.js'
import { simulate } from './load.js'
import type { Stand } from './stand.js'

/** Event loop delay of the gateway, milliseconds. */
export interface EventLoopDelay {
  p99: number
  max: number
}

/** Keeps two 45M-gas loops running on a separate gateway for `seconds` and reads its event loop delay. */
export async function measureEventLoop(stand: Stand, seconds: number): Promise<EventLoopDelay> {
  const loops = WARM_WORKLOADS.filter(({ name }) => name.startsWith('loop-'))
  const folder = mkdtempSync(join(tmpdir(), 'upfront-bench-'))
  const file = join(folder, 'event-loop.json')
  const probe = new URL('./event-loop-probe.js', import.meta.url).href
  const gateway = await startGateway(stand.node.url, { EVENT_LOOP_PROBE_FILE: file }, [`--import=${probe}`])
  const pool = new Pool(gateway.url, { connections: 2 })
  const look = async (): Promise<EventLoopDelay> => {
    rmSync(file, { force: true })
    process.kill(gateway.pid, 'SIGUSR2')
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20))
    return JSON.parse(readFileSync(file, 'utf8'))
  }
  try {
    for (const { payload } of loops) await simulate(pool, payload(stand.stage, 0))
    await look()
    const end = performance.now() + seconds * 1_000
    await Promise.all(
      loops.map(async ({ payload }) => {
        while (performance.now() < end) await simulate(pool, payload(stand.stage, 0))
      }),
    )
    return await look()
  } finally {
    await pool.destroy()
    await gateway.stop()
    rmSync(folder, { recursive: true })
  }
}

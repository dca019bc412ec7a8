import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { request } from 'undici'
import type { EventLoopDelay } from './measure/event-loop.js'
import { startAnvilNode } from './servers/anvil.js'
import { startGateway } from './servers/gateway.js'
import type { Server } from './servers/server.js'
import { formatTable } from './table.js'

const HELP = `npm run bench:large-bodies -- [options]
The longest delay of the gateway's event loop while it serves bodies of 28 to 31 MB.
  --only a,b     of slots, accounts, calls, code, input
  --rounds 5     of each body
  --engine auto  or portable`

const PROBE = new URL('./measure/event-loop-probe.js', import.meta.url).href
const SETTLE_MS = 300

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    engine: { type: 'string', default: 'auto' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}

const TARGET = '0x00000000000000000000000000000000000c0de5'
const address = (index: number) => `0x${index.toString(16).padStart(40, '0')}`
const word = (index: number) => `0x${index.toString(16).padStart(64, '0')}`
const map = (count: number, key: (index: number) => string, value: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [key(index + 0x10000), value(index)]))

const BODIES: Record<string, () => object[]> = {
  slots: () => [{ stateOverrides: { [TARGET]: { stateDiff: map(220_000, word, word) } }, calls: [{ to: TARGET }] }],
  accounts: () =>
    Array.from({ length: 28 }, () => ({
      stateOverrides: map(1_000, address, () => ({ code: `0x${'5b'.repeat(500)}` })),
      calls: [{ to: TARGET }],
    })),
  calls: () => [{ calls: Array.from({ length: 1_000 }, () => ({ to: TARGET, input: `0x${'5b'.repeat(15_000)}` })) }],
  code: () => [{ stateOverrides: { [TARGET]: { code: `0x${'5b'.repeat(15_500_000)}` } }, calls: [{ to: TARGET }] }],
  input: () => [{ calls: [{ to: TARGET, input: `0x${'5b'.repeat(15_500_000)}` }] }],
}

async function delayOf(gateway: Server, file: string): Promise<EventLoopDelay> {
  rmSync(file, { force: true })
  process.kill(gateway.pid, 'SIGUSR2')
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20))
  return JSON.parse(readFileSync(file, 'utf8'))
}

async function ask(gateway: Server, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const answer = await request(gateway.url, { method: 'POST', headers, body })
  return answer.body.text()
}

const node = await startAnvilNode()
const folder = mkdtempSync(join(tmpdir(), 'upfront-bench-'))
const file = join(folder, 'event-loop.json')
const limits = { callsPerSecond: 0, bodyBytes: 33_554_432, gas: 2_000_000_000, timeoutMs: 60_000 }
const gateway = await startGateway(
  node.url,
  { EVENT_LOOP_PROBE_FILE: file, EVM_ENGINE: options.engine, LIMITS: JSON.stringify(limits) },
  [`--import=${PROBE}`],
)
const rows: string[][] = []
try {
  for (const [name, blocks] of Object.entries(BODIES)) {
    if (options.only !== undefined && !options.only.split(',').includes(name)) continue
    // Enough for the longest calls, whatever the gas limit of the node's blocks.
    const blockStateCalls = blocks().map((block) => ({ ...block, blockOverrides: { gasLimit: '0x77359400' } }))
    const params = [{ blockStateCalls }, 'latest']
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params })
    const longest: number[] = []
    let answer = ''
    for (let round = 0; round < Number(options.rounds); round++) {
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
      await delayOf(gateway, file)
      answer = await ask(gateway, body)
      longest.push((await delayOf(gateway, file)).max)
    }
    const isServed = answer.includes('"result"')
    rows.push([
      name,
      (body.length / 1e6).toFixed(1),
      longest.map((ms) => ms.toFixed(0)).join(' '),
      isServed ? 'served' : answer.slice(0, 120),
    ])
  }
} finally {
  await gateway.stop()
  await node.stop()
  rmSync(folder, { recursive: true })
}
console.log(formatTable(['body', 'MB', 'longest delay of each, ms', 'answer'], rows))

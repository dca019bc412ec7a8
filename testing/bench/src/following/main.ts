import { parseArgs } from 'node:util'
import { startAnvil, startFaultProxy, startSequencer, startSocketProxy } from '@upfront/devnet'
import { startMovingChain } from '../moving/moving-chain.js'
import { startGateway } from '../servers/gateway.js'
import { formatTable } from '../table.js'

/** Round trip to the node. */
const NODE_MS = 40
/** Per block. The state that these read is carried, and fetched in the first blocks. */
const TRANSACTIONS = 5
const DAY_MS = 86_400_000
const WARM_BLOCKS = 20
const MAX_WARM_MS = 60_000
const MIN_MEASURED_MS = 60_000
const MIN_BLOCKS = 10
const INTERVALS_MS = [200, 2_000, 12_000]

interface Followed {
  url: string
  wsUrl: string
  /** URL of a Flashblocks stream. */
  streamUrl?: string
  stop(): Promise<void>
}

const { values: options } = parseArgs({ options: { help: { type: 'boolean', default: false } } })
if (options.help) {
  console.log(`npm run bench:following\nRequests that an idle gateway sends to its node in a day, by method.`)
  process.exit(0)
}
const columns: { title: string; aDay: Record<string, number> }[] = []
for (const intervalMs of INTERVALS_MS) {
  const chain = await withoutStream(intervalMs)
  await measure(chain, intervalMs, `${intervalMs / 1_000} s`)
}
await measure(await withStream(), 2_000, '2 s, Flashblocks')
const names = [...new Set(columns.flatMap(({ aDay }) => Object.keys(aDay)))].sort()
console.log(
  formatTable(
    ['a day', ...columns.map(({ title }) => title)],
    names.map((name) => [name, ...columns.map(({ aDay }) => Math.round(aDay[name] ?? 0).toLocaleString('en'))]),
  ),
)

async function withoutStream(intervalMs: number): Promise<Followed> {
  const { rpcUrl, wsUrl, stop } = await startMovingChain(intervalMs, TRANSACTIONS)
  return { url: rpcUrl, wsUrl, stop }
}

async function withStream(): Promise<Followed> {
  const anvil = await startAnvil(['--port', '0', '--order', 'fifo'])
  const sequencer = await startSequencer({ rpcUrl: anvil.rpcUrl })
  const stop = async () => {
    await sequencer.stop()
    await anvil.stop()
  }
  return { url: anvil.rpcUrl, wsUrl: anvil.wsUrl, streamUrl: sequencer.url, stop }
}

/** Measures both ways of following the same blocks concurrently. */
async function measure(chain: Followed, intervalMs: number, title: string): Promise<void> {
  const warmMs = Math.min(WARM_BLOCKS * intervalMs, MAX_WARM_MS)
  const measuredMs = Math.max(MIN_MEASURED_MS, MIN_BLOCKS * intervalMs)
  const both = await Promise.all(
    [true, false].map(async (isSubscribed) => {
      const node = await startFaultProxy(chain.url)
      const heads = await startSocketProxy(chain.wsUrl)
      node.latencyMs = NODE_MS
      heads.latencyMs = NODE_MS / 2
      const gateway = await startGateway(node.url, {
        FOLLOW_HEAD: 'always',
        ...(isSubscribed && { UPSTREAM_WS_URL: heads.url }),
        ...(chain.streamUrl !== undefined && { FLASHBLOCKS_WS_URL: chain.streamUrl }),
      })
      const stop = async () => {
        for (const each of [gateway, heads, node]) await each.stop()
      }
      return { isSubscribed, node, heads, stop }
    }),
  )
  try {
    await sleep(warmMs)
    const announced = both.map(({ node, heads }) => {
      node.reset()
      return heads.announced
    })
    await sleep(measuredMs)
    const blocks = both[0]!.heads.announced - announced[0]!
    // By the chain's clock, because its blocks are late on a busy machine.
    const days = (blocks * intervalMs) / DAY_MS
    for (const [at, { isSubscribed, node, heads }] of both.entries()) {
      const counts = {
        ...node.stats.byMethod,
        'HTTP requests': node.stats.requests,
        announcements: heads.announced - announced[at]!,
      }
      const aDay = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / days]))
      columns.push({ title: `${title}${isSubscribed ? '' : ', no subscription'}`, aDay })
    }
  } finally {
    for (const { stop } of both) await stop()
    await chain.stop()
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  RECORDED_BLOCKS,
  type RecordedBlock,
  type RecordedNode,
  recordedBlock,
  startRecordedNode,
} from '@upfront/devnet'
import { startGateway } from '../servers/gateway.js'
import { formatTable } from '../table.js'
import { busiestSwap, callsOf, type Payload, type SimulatedCall } from './payloads.js'

const HELP = `npm run bench:real -- [options]
Recorded blocks of real chains on a fresh gateway that is far from its node: carrying the first block, and its busiest swap alone.
  --only 16257471,…  numbers of the blocks
  --latency 40       milliseconds that each HTTP request to the node takes`

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    latency: { type: 'string', default: '40' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const only = options.only?.split(',')
const latency = Number(options.latency)
/** Of issue 29, for carrying. */
const GOALS = { mainnet: { ms: 3_000, requests: 25 }, optimism: { ms: 1_000, requests: 10 } }
/** A block that is not carried by then is late. */
const PATIENCE_MS = 16_000
const LIMITS = JSON.stringify({ callsPerSecond: 0, gas: 2_000_000_000, reads: 100_000, timeoutMs: 60_000 })
const ENVIRONMENT = { HEAD_MAX_AGE_SECONDS: 'off', LIMITS }
const NOTHING: Payload = { blockStateCalls: [{ calls: [{ to: '0x0000000000000000000000000000000000000001' }] }] }

interface Cold {
  ms: number
  requests: number
}

interface Health {
  following?: { recent?: { hash: string; carried?: boolean | string }[] }
}

async function simulate(url: string, payload: Payload, at: unknown): Promise<SimulatedCall[]> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [payload, at] })
  const answer = await fetch(`${url}/ethereum`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const { result, error } = (await answer.json()) as { result?: { calls: SimulatedCall[] }[]; error?: unknown }
  if (result === undefined) throw new Error(`a simulation failed: ${JSON.stringify(error)}`)
  return result[0]!.calls
}

/** A fresh gateway on a fresh node, `work`, and the end of both. */
async function onFresh<T>(
  recorded: RecordedBlock,
  follows: boolean,
  work: (gateway: string, node: RecordedNode) => Promise<T>,
): Promise<T> {
  const node = await startRecordedNode(recorded, latency)
  const following = follows ? { UPSTREAM_WS_URL: node.webSocketUrl, FOLLOW_HEAD: 'always' } : { FOLLOW_HEAD: 'off' }
  const gateway = await startGateway(node.url, { ...ENVIRONMENT, ...following })
  try {
    return await work(gateway.url, node)
  } finally {
    await gateway.stop()
    await node.stop()
  }
}

/** Follows the block's grandparent, its parent, where one call is simulated, and the block. Undefined where that was not carried. */
function carryCold(recorded: RecordedBlock): Promise<Cold | undefined> {
  return onFresh(recorded, true, async (gateway, node) => {
    while (node.subscribers() === 0) await sleep(20)
    await sleep(2_000)
    node.advance()
    await sleep(1_000)
    await simulate(gateway, NOTHING, recorded.parent.hash)
    await sleep(1_000)
    const [before, began] = [node.requests(), performance.now()]
    node.advance()
    while (performance.now() - began < PATIENCE_MS) {
      const { following } = (await (await fetch(`${gateway}/health/ready`)).json()) as Health
      const carried = following?.recent?.find(({ hash }) => hash === recorded.block.hash)?.carried
      if (carried === true) return { ms: performance.now() - began, requests: node.requests() - before }
      if (carried !== undefined) return undefined
      await sleep(20)
    }
    return undefined
  })
}

/** The busiest swap of the block, alone on its parent. */
async function swapCold(recorded: RecordedBlock): Promise<Cold | undefined> {
  const calls = await onFresh(recorded, false, async (gateway, node) => {
    node.advance()
    return simulate(gateway, callsOf(recorded), recorded.parent.hash)
  })
  const swap = busiestSwap(recorded, calls)
  if (swap === undefined) return undefined
  return onFresh(recorded, false, async (gateway, node) => {
    node.advance()
    await simulate(gateway, NOTHING, recorded.parent.hash)
    const [before, began] = [node.requests(), performance.now()]
    await simulate(gateway, swap, recorded.parent.hash)
    return { ms: performance.now() - began, requests: node.requests() - before }
  })
}

/** One read, asked of the node directly. */
function askNode(recorded: RecordedBlock): Promise<number> {
  return startRecordedNode(recorded, latency).then(async (node) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
    const began = performance.now()
    await (await fetch(node.url, { method: 'POST', body })).text()
    const took = performance.now() - began
    await node.stop()
    return took
  })
}

const rows: string[][] = []
let missed = 0
const shown = (cold: Cold | undefined) => (cold === undefined ? ['', ''] : [cold.ms.toFixed(0), String(cold.requests)])
for (const file of readdirSync(RECORDED_BLOCKS)) {
  const name = /\d+/.exec(file)?.[0] ?? file
  if (only !== undefined && !only.includes(name)) continue
  console.error(`${name} …`)
  const recorded = recordedBlock(file)
  const goal = recorded.chainId === 1 ? GOALS.mainnet : GOALS.optimism
  const [direct, carried, swap] = [await askNode(recorded), await carryCold(recorded), await swapCold(recorded)]
  const isMet = carried !== undefined && carried.ms <= goal.ms && carried.requests <= goal.requests
  if (!isMet) missed += 1
  rows.push([
    ...[
      name,
      ...(carried === undefined ? ['late', ''] : shown(carried)),
      `${goal.ms}, ${goal.requests}`,
      isMet ? 'yes' : 'NO',
    ],
    ...[...shown(swap), direct.toFixed(0)],
  ])
}
const carry = ['carried: ms', 'requests', 'goal', 'met']
console.log(formatTable(['block', ...carry, 'swap: ms', 'requests', 'node asked once: ms'], rows))
process.exitCode = missed === 0 ? 0 : 1

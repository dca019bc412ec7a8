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
import { DependentReads, type Named, type Step } from './dependent-reads.js'
import { busiestSwap, callsOf, type Payload, type SimulatedCall } from './payloads.js'

const HELP = `npm run bench:real -- [options]
Recorded blocks of real chains on a fresh gateway that is far from its node: carrying the first block, and its busiest swap alone.
In addition to the requests, it prints the longest chain of dependent reads: with dependencies on code, and by values alone.
A client needs as many round trips if it guesses nothing, or guesses code only.
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
/** Targets of issue 29 for carrying. */
const GOALS = {
  mainnet: { ms: 3_000, requests: 25 },
  optimism: { ms: 1_000, requests: 10 },
  hintedSwap: { requests: 3 },
}
/** A block not carried by then is late. */
const PATIENCE_MS = 16_000
const LIMITS = JSON.stringify({
  callsPerSecond: 0,
  gas: 2_000_000_000,
  reads: 100_000,
  timeoutMs: 60_000,
  answerBytes: 2 ** 28,
})
const ENVIRONMENT = { HEAD_MAX_AGE_SECONDS: 'off', LIMITS }
const PRESTATE = { tracer: 'prestateTracer', tracerConfig: { disableCode: true } }
/** A longer trace is followed up to this limit. */
const STACKS = { disableStorage: true, limit: 12_000_000 }
const NOTHING: Payload = { blockStateCalls: [{ calls: [{ to: '0x0000000000000000000000000000000000000001' }] }] }

interface Cold {
  ms: number
  requests: number
}

type Chain = [withCodes: DependentReads, byValues: DependentReads]

/** A node's answers about what a block or a call reads. */
type Hints = Readonly<Record<string, (params: unknown[]) => unknown>>

interface Health {
  following?: { recent?: { hash: string; carried?: boolean | string }[] }
}

async function ask<T>(url: string, method: string, params: unknown[]): Promise<T> {
  const answer = await fetch(`${url}/ethereum`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await answer.json()) as { result?: T; error?: unknown }
  if (result === undefined) throw new Error(`${method} failed: ${JSON.stringify(error)}`)
  return result
}

async function simulate(url: string, payload: Payload, at: unknown): Promise<SimulatedCall[]> {
  const [block] = await ask<{ calls: SimulatedCall[] }[]>(url, 'eth_simulateV1', [payload, at])
  return block!.calls
}

/** Runs `work` with a fresh gateway on a fresh node that also answers `hints`, then stops both. */
async function onFresh<T>(
  recorded: RecordedBlock,
  follows: boolean,
  work: (gateway: string, node: RecordedNode) => Promise<T>,
  hints?: Hints,
): Promise<T> {
  const node = await startRecordedNode(recorded, latency, hints)
  const following = follows ? { UPSTREAM_WS_URL: node.webSocketUrl, FOLLOW_HEAD: 'always' } : { FOLLOW_HEAD: 'off' }
  const gateway = await startGateway(node.url, { ...ENVIRONMENT, ...following })
  try {
    return await work(gateway.url, node)
  } finally {
    await gateway.stop()
    await node.stop()
  }
}

/** Follows the block's grandparent, its parent, on which one call is simulated, and the block. Undefined if the block was not carried. */
function carryCold(recorded: RecordedBlock, hints?: Hints): Promise<Cold | undefined> {
  return onFresh(
    recorded,
    true,
    async (gateway, node) => {
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
    },
    hints,
  )
}

/** The block's busiest swap, if it has one. */
function findSwap(recorded: RecordedBlock): Promise<Payload | undefined> {
  return onFresh(recorded, false, async (gateway, node) => {
    node.advance()
    return busiestSwap(recorded, await simulate(gateway, callsOf(recorded), recorded.parent.hash))
  })
}

interface Told {
  /** Dependent reads of the whole block, and of a swap alone on its parent. */
  ofBlock: Chain
  ofSwap: Chain
  /** The result of geth's prestate tracer for both, and the access lists of the block's transactions. */
  hints: Hints
  lists: Hints
}

function keyOf(call: unknown): string {
  const { from, input } = call as Record<string, string>
  return `${from}${input}`.toLowerCase()
}

/** Results of the traces, from a gateway close to its node. */
function trace(recorded: RecordedBlock, swap: Payload | undefined): Promise<Told> {
  return onFresh(recorded, false, async (gateway, node) => {
    node.advance()
    node.advance()
    const follow = async (reads: Chain, named: Named, method: string, params: unknown[]) => {
      const { structLogs } = await ask<{ structLogs: Step[] }>(gateway, method, params)
      for (const each of reads) each.follow(named, structLogs)
    }
    const kinds = (): Chain => [new DependentReads(recorded.state, true), new DependentReads(recorded.state, false)]
    const [ofBlock, ofSwap] = [kinds(), kinds()]
    const transactions = recorded.block.transactions as (Named & { hash: string })[]
    for (const reads of ofBlock) for (const transaction of transactions) reads.name(transaction)
    for (const transaction of transactions)
      await follow(ofBlock, transaction, 'debug_traceTransaction', [transaction.hash, STACKS])
    const listed = new Map<string, unknown>()
    for (const { from, to, input, value, gas } of recorded.block.transactions as Record<string, string>[])
      if (to && input !== '0x')
        listed.set(
          keyOf({ from, input }),
          await ask(gateway, 'eth_createAccessList', [{ from, to, input, value, gas }, recorded.parent.hash]),
        )
    const lists: Hints = { eth_createAccessList: ([call]) => listed.get(keyOf(call)) ?? null }
    const traced = await ask(gateway, 'debug_traceBlockByHash', [recorded.block.hash, PRESTATE])
    const ofTransactions: Hints = { debug_traceBlockByHash: () => traced }
    if (swap === undefined) return { ofBlock, ofSwap, hints: ofTransactions, lists }
    const { blockOverrides, calls } = swap.blockStateCalls[0]!
    const at = [calls[0], recorded.parent.hash]
    await follow(ofSwap, { to: null, ...calls[0] } as Named, 'debug_traceCall', [...at, { ...STACKS, blockOverrides }])
    const call = await ask(gateway, 'debug_traceCall', [...at, { ...PRESTATE, blockOverrides }])
    return { ofBlock, ofSwap, hints: { ...ofTransactions, debug_traceCall: () => call }, lists }
  })
}

/** Simulates a swap alone on the block's parent. */
async function swapCold(recorded: RecordedBlock, swap: Payload, hints?: Hints): Promise<Cold> {
  return onFresh(
    recorded,
    false,
    async (gateway, node) => {
      node.advance()
      await simulate(gateway, NOTHING, recorded.parent.hash)
      const [before, began] = [node.requests(), performance.now()]
      await simulate(gateway, swap, recorded.parent.hash)
      return { ms: performance.now() - began, requests: node.requests() - before }
    },
    hints,
  )
}

/** Simulates the block's halves one after the other on its parent. @returns requests for each */
function halves(recorded: RecordedBlock): Promise<number[]> {
  const [{ calls, ...block }] = callsOf(recorded).blockStateCalls as [Payload['blockStateCalls'][number]]
  const middle = Math.ceil(calls.length / 2)
  return onFresh(recorded, false, async (gateway, node) => {
    node.advance()
    await simulate(gateway, NOTHING, recorded.parent.hash)
    const requests: number[] = []
    for (const half of [calls.slice(0, middle), calls.slice(middle)]) {
      const before = node.requests()
      await simulate(gateway, { blockStateCalls: [{ ...block, calls: half }] }, recorded.parent.hash)
      requests.push(node.requests() - before)
    }
    return requests
  })
}

/** Measures one read directly at the node. */
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
/** `≥` if a trace was too long to follow to its end. */
const shownChain = (chain: Chain) => chain.map(({ longest, isWhole }) => `${isWhole ? '' : '≥'}${longest}`).join(' / ')
const shown = (cold: Cold | undefined) => (cold === undefined ? ['', ''] : [cold.ms.toFixed(0), String(cold.requests)])
for (const file of readdirSync(RECORDED_BLOCKS)) {
  const name = /\d+/.exec(file)?.[0] ?? file
  if (only !== undefined && !only.includes(name)) continue
  console.error(`${name} …`)
  const recorded = recordedBlock(file)
  const goal = recorded.chainId === 1 ? GOALS.mainnet : GOALS.optimism
  const [direct, carried, payload] = [await askNode(recorded), await carryCold(recorded), await findSwap(recorded)]
  const swap = payload && (await swapCold(recorded, payload))
  const { ofBlock, ofSwap, hints, lists } = await trace(recorded, payload)
  const hinted = {
    block: await carryCold(recorded, hints),
    byLists: await carryCold(recorded, lists),
    swap: payload && (await swapCold(recorded, payload, hints)),
  }
  const isWithin = (cold: Cold | undefined) =>
    cold !== undefined && cold.ms <= goal.ms && cold.requests <= goal.requests
  const isSwapMet =
    swap === undefined || (swap.requests <= ofSwap[0].longest && hinted.swap!.requests <= GOALS.hintedSwap.requests)
  if (!isWithin(carried) || !isWithin(hinted.block) || !isSwapMet) missed += 1
  const met = (is: boolean) => (is ? 'yes' : 'NO')
  rows.push([
    ...[name, `${goal.ms}, ${goal.requests}`, ...shown(carried), met(isWithin(carried)), shownChain(ofBlock)],
    ...[...shown(hinted.block), met(isWithin(hinted.block)), ...shown(hinted.byLists), ...shown(swap)],
    ...(swap === undefined ? ['', '', ''] : [shownChain(ofSwap), shown(hinted.swap)[1]!, met(isSwapMet)]),
    (await halves(recorded)).join(', '),
    direct.toFixed(0),
  ])
}
const carry = [
  'carried: ms',
  'requests',
  'met',
  'chain',
  'with a hint: ms',
  'requests',
  'met',
  'by access lists: ms',
  'requests',
]
const alone = ['swap: ms', 'requests', 'at most its chain', 'with a hint', 'met']
console.log(formatTable(['block', 'goal', ...carry, ...alone, 'halves: requests', 'node asked once: ms'], rows))
process.exitCode = missed === 0 ? 0 : 1

import { parseArgs } from 'node:util'
import { type FaultProxy, startFaultProxy, startSocketProxy } from '@upfront/devnet'
import { quantile } from '../measure/load.js'
import { startGateway } from '../servers/gateway.js'
import { cpuMilliseconds, residentBytes } from '../servers/process-usage.js'
import { formatNumber, formatTable } from '../table.js'
import { HeadProbe } from './head-probe.js'
import { startMovingChain } from './moving-chain.js'
import { countWrong, FLOOR, READ_METHODS, type Read, sendReads } from './reads.js'
import { type Answer, RECIPIENTS, send } from './traffic.js'

/** Round trip to the node. */
const NODE_MS = 40

interface Scenario {
  name: string
  intervalMs: number
  /** Per block. */
  transactions: number
  /** Requests per second. */
  rate: number
  seconds: number
  /** Most HTTP requests to the node per response, except those that follow the head. */
  trips?: number
  /** Milliseconds. */
  median?: number
  p90?: number
  /** Largest fraction of responses that may be more than `STALENESS_MS` behind polling the node. */
  late: number
}

/** Targets from issue 29. */
const SCENARIOS: readonly Scenario[] = [
  {
    ...{ name: '200ms-200', intervalMs: 200, transactions: 20, rate: 200, seconds: 20 },
    ...{ median: 1, p90: 5, trips: 0.12, late: 0.05 },
  },
  { name: '200ms-20', intervalMs: 200, transactions: 20, rate: 20, seconds: 20, late: 0.05 },
  {
    ...{ name: '2s-20', intervalMs: 2_000, transactions: 100, rate: 20, seconds: 30 },
    ...{ median: 1, p90: 5, trips: 0.12, late: 0.01 },
  },
  { name: '12s-20', intervalMs: 12_000, transactions: 200, rate: 20, seconds: 48, late: 0.01 },
]
const STALENESS_MS = 60
/** The initial phase of learning and reading is not measured. `--quick` sends one request per recipient. */
const WARM_SECONDS = 60
/** Target for `eth_call` and `eth_getBalance` at `latest`, from issue 29. */
const READ_MEDIAN_MS = 1
const IDLE_BLOCKS = 10
const HEAD_METHODS = new Set(['eth_getBlockByHash', 'eth_getBlockByNumber', 'eth_blockNumber'])

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    profile: { type: 'string' },
    follow: { type: 'string', default: 'auto' },
    poll: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  const names = SCENARIOS.map(({ name }) => name).join(', ')
  console.log(
    `npm run bench:moving -- [--quick] [--only NAME,…] [--follow auto|always|off] [--poll] [--profile FOLDER]`,
  )
  console.log(`--poll: without a WebSocket. Names: ${names}`)
  process.exit(0)
}
const chosen = SCENARIOS.filter(({ name }) => options.only === undefined || options.only.split(',').includes(name))
let missed = 0
for (const scenario of chosen) await run(scenario)
if (missed > 0) console.log(`\n${missed} targets missed`)

interface Recent {
  block: string
  carried?: boolean
  reason?: string
  detail?: string
}

interface Measured {
  median: number
  p90: number
  p99: number
  staleness: number
  late: number
}

async function run(scenario: Scenario): Promise<void> {
  const { intervalMs, transactions, rate } = scenario
  const seconds = options.quick ? Math.max(6, (2 * intervalMs) / 1_000) : scenario.seconds
  const chain = await startMovingChain(intervalMs, transactions)
  const started: { stop(): Promise<unknown> }[] = [chain]
  try {
    const near = await startFaultProxy(chain.rpcUrl)
    const direct = await startFaultProxy(chain.rpcUrl)
    const heads = await startSocketProxy(chain.wsUrl)
    near.latencyMs = NODE_MS
    direct.latencyMs = NODE_MS
    heads.latencyMs = NODE_MS / 2
    const gateway = await startGateway(
      near.url,
      { FOLLOW_HEAD: options.follow, ...(options.poll ? {} : { UPSTREAM_WS_URL: heads.url }) },
      options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`],
    )
    started.unshift(gateway, near, direct, heads)
    const probe = new HeadProbe(direct.url)
    started.unshift(probe)
    const warmSeconds = options.quick ? Math.max(4, (2 * intervalMs) / 1_000, RECIPIENTS / rate) : WARM_SECONDS
    await send(gateway.url, chain.stage, rate, warmSeconds)
    near.reset()
    const headsBefore = probe.heads
    const cpuBefore = cpuMilliseconds(gateway.pid)
    const ours = await send(gateway.url, chain.stage, rate, seconds)
    const cpu = cpuMilliseconds(gateway.pid) - cpuBefore
    const blocks = probe.heads - headsBefore
    const trips = tripsOf(near)
    const idle = await idleCpu(gateway.pid, intervalMs)
    const theirs = await send(direct.url, chain.stage, rate, seconds)
    const readCount = Math.round(rate * Math.min(seconds, 10))
    // As many as a warm-up at this rate would send.
    const inTurn = await sendReads(gateway.url, chain.stage, Math.round(rate * warmSeconds))
    const ourReads = await sendReads(gateway.url, chain.stage, readCount, rate)
    const theirReads = await sendReads(direct.url, chain.stage, readCount, rate)
    const wrong = await countWrong(ourReads, chain.rpcUrl, chain.stage)
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
    report(scenario, measured(ours, probe), measured(theirs, probe), {
      'HTTP requests to the node for an answer': trips.state / ours.length,
      'HTTP requests to the node for a block, following': trips.head / blocks,
      'calls that failed': failures(ours),
      'CPU of the gateway for an answer, ms': cpu / ours.length,
      'CPU of the gateway for a followed block without requests, ms': idle,
      'resident memory of the gateway, MiB': residentBytes(gateway.pid) / 2 ** 20,
    })
    reportReads(ourReads, theirReads, inTurn, wrong)
    const counted = metrics.split('\n').filter((line) => /^upfront_(carry_(blocks|reads|pace)|head_events)/.test(line))
    console.log(`\n${counted.join('\n')}`)
    const { following } = (await (await fetch(`${gateway.url}/health/ready`)).json()) as {
      following: { recent: Recent[] }
    }
    const cold = following.recent.filter(({ carried }) => carried === false).slice(-3)
    for (const { block, reason, detail } of cold) console.log(`block ${block} not carried: ${reason}: ${detail}`)
  } finally {
    for (const each of started) await each.stop()
  }
}

function measured(answers: readonly Answer[], probe: HeadProbe): Measured {
  const times = answers.map(({ milliseconds }) => milliseconds)
  const [median, p90, p99] = [0.5, 0.9, 0.99].map((part) => quantile(times, part)) as [number, number, number]
  const stale = answers.map(({ block, answeredAt }) => probe.staleness(block, answeredAt))
  const late = stale.filter((behind) => behind > STALENESS_MS).length / stale.length
  return { median, p90, p99, staleness: quantile(stale, 0.99), late }
}

function failures(answers: readonly Answer[]): number {
  return answers.reduce((sum, { failed }) => sum + failed, 0)
}

/** HTTP requests of the gateway: those that only follow the head, and all others. */
function tripsOf({ stats }: FaultProxy): { head: number; state: number } {
  const head = stats.methods.filter((methods) => methods.every((method) => HEAD_METHODS.has(method))).length
  return { head, state: stats.methods.length - head }
}

async function idleCpu(pid: number, intervalMs: number): Promise<number> {
  const blocks = options.quick || intervalMs > 5_000 ? 2 : IDLE_BLOCKS
  const before = cpuMilliseconds(pid)
  await new Promise((resolve) => setTimeout(resolve, blocks * intervalMs))
  return (cpuMilliseconds(pid) - before) / blocks
}

function report(scenario: Scenario, ours: Measured, theirs: Measured, more: Record<string, number>): void {
  const { intervalMs, transactions, rate } = scenario
  const blocks = `blocks of ${intervalMs} ms with ${transactions} transactions`
  console.log(`\n${blocks}, ${rate} requests a second, ${NODE_MS} ms from the node\n`)
  const row = (title: string, us: number, node: number, target?: number) => [
    title,
    formatNumber(us),
    formatNumber(node),
    target === undefined ? '' : formatNumber(target),
    target === undefined ? '' : verdict(us <= target),
  ]
  const trips = 'HTTP requests to the node for an answer'
  console.log(
    formatTable(
      ['', 'Upfront', 'the node', 'target', ''],
      [
        row('median, ms', ours.median, theirs.median, scenario.median),
        row('p90, ms', ours.p90, theirs.p90, scenario.p90),
        row('p99, ms', ours.p99, theirs.p99),
        row('99th percentile of how far answers are behind, ms', ours.staleness, Number.NaN),
        row(`part that is more than ${STALENESS_MS} ms behind`, ours.late, Number.NaN, scenario.late),
        ...Object.entries(more).map(([title, value]) =>
          row(title, value, Number.NaN, title === trips ? scenario.trips : undefined),
        ),
      ],
    ),
  )
}

/** Compares reads at `latest` with the same reads at the node, and with sequential ones. */
function reportReads(ours: readonly Read[], theirs: readonly Read[], inTurn: readonly Read[], wrong: number): void {
  const rows = READ_METHODS.flatMap((method) => {
    const [all, direct, alone] = [ours, theirs, inTurn].map((reads) =>
      reads.filter((read) => read.method === method).map(({ milliseconds }) => milliseconds),
    ) as [number[], number[], number[]]
    const median = quantile(all, 0.5)
    const isTarget = method !== FLOOR
    const target = isTarget ? [formatNumber(READ_MEDIAN_MS), verdict(median <= READ_MEDIAN_MS)] : ['', '']
    return [
      [`${method}, median, ms`, formatNumber(median), formatNumber(quantile(direct, 0.5)), ...target],
      [`${method}, p90, ms`, formatNumber(quantile(all, 0.9)), formatNumber(quantile(direct, 0.9)), '', ''],
      [`${method}, sequential, median, ms`, formatNumber(quantile(alone, 0.5)), '', '', ''],
    ]
  })
  const onState = ours.filter(({ method }) => method !== FLOOR)
  const here = onState.filter(({ block }) => block !== undefined).length
  console.log(
    `\n${formatTable(
      ['', 'Upfront', 'the node', 'target', ''],
      [
        ...rows,
        ['share of reads that name their block', formatNumber(here / onState.length), '', '', ''],
        ['of these, reads that differ from the node', formatNumber(wrong), '', '0', verdict(wrong === 0)],
      ],
    )}`,
  )
}

function verdict(met: boolean): string {
  if (!met) missed += 1
  return met ? 'met' : 'MISSED'
}

import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { COLD_WORKLOADS, measureCold } from './measure/cold.js'
import { measureEventLoop } from './measure/event-loop.js'
import { measureMemory } from './measure/memory.js'
import { measureOutcome } from './measure/outcome.js'
import { type Stand, startStand } from './measure/stand.js'
import { compare } from './measure/warm.js'
import { formatNumber, formatTable } from './table.js'
import { WARM_WORKLOADS } from './workloads/warm.js'

/** Target for `outcome` in issue 36: at most twice a simulation. */
const MAX_RATIO_TO_PLAIN = 2

/** Target for the portable build in issue 31: at most four times the native one. */
const MAX_RATIO_TO_NATIVE = 4

const NAMES = [...WARM_WORKLOADS, ...COLD_WORKLOADS].map(({ name }) => name).concat('outcome', 'event-loop', 'memory')

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    follow: { type: 'boolean', default: false },
    portable: { type: 'boolean', default: false },
    json: { type: 'string' },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(
    `npm run bench -- [--quick] [--follow] [--portable] [--only NAME[,NAME…]] [--json FILE] [--profile FOLDER]\nNames: ${NAMES.join(', ')}`,
  )
  process.exit(0)
}
const only = options.only?.flatMap((names) => names.split(','))
const unknown = only?.filter((name) => !NAMES.includes(name)) ?? []
if (unknown.length > 0) {
  console.error(`--only: unknown ${unknown.join(', ')}; known are ${NAMES.join(', ')}`)
  process.exit(1)
}
if (process.platform !== 'linux') {
  console.error('The benchmark reads CPU time from /proc: it runs on Linux only')
  process.exit(1)
}
const chosen = <T extends { name: string }>(workloads: readonly T[]) =>
  workloads.filter(({ name }) => only === undefined || only.includes(name))
const chose = (name: string) => only === undefined || only.includes(name)

const results: Record<string, unknown> = {}
let missed = 0
const verdict = (met: boolean) => {
  if (!met) missed++
  return met ? 'met' : 'MISSED'
}
const progress = (text: string) => process.stderr.write(`${text} …\n`)

progress('Starting the node, our gateway and an anvil fork')
const stand = await startStand({
  follows: options.follow,
  withPortable: options.portable,
  ...(options.profile !== undefined && { profileFolder: options.profile }),
})
process.once('SIGINT', () => void stand.stop().finally(() => process.exit(130)))
try {
  const ready = await fetch(`${stand.upfront.url}/health/ready`)
  const { engine } = (await ready.json()) as { engine?: { name: string; version: string } }
  console.log(
    `${cpus().length} × ${cpus()[0]?.model}, Node ${process.versions.node}, engine ${engine?.name} ${engine?.version},`,
  )
  console.log(
    `state on ${stand.geth === undefined ? 'anvil (geth is not installed: no column for it)' : 'geth --dev'}\n`,
  )
  await reportWarm(stand)
  await reportCold(stand)
  if (chose('outcome')) await reportOutcome(stand)
  if (chose('event-loop')) await reportEventLoop(stand)
  if (chose('memory')) await reportMemory()
} finally {
  await stand.stop()
}
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)
console.log(missed === 0 ? 'Every target is met.' : `${missed} targets are missed.`)

async function reportWarm(on: Stand): Promise<void> {
  const effort = options.quick ? { seconds: 1, rounds: 1 } : { seconds: 1, rounds: 9 }
  const rows: string[][] = []
  for (const workload of chosen(WARM_WORKLOADS)) {
    progress(workload.title)
    const figures = await compare(workload, on, effort)
    results[workload.name] = figures
    const { upfront, portable, anvil, geth } = figures
    if (upfront === undefined || anvil === undefined) throw new Error(`no figures for ${workload.name}`)
    const ratio = (other: typeof geth, target: number | undefined, of: typeof geth = upfront) => {
      if (other === undefined || of === undefined) return ['', '', '']
      const value = of.cpuPerRequest / other.cpuPerRequest
      const goal = target === undefined ? ['', ''] : [`≤ ${target}`, verdict(value <= target)]
      return [value.toFixed(2), ...goal]
    }
    rows.push([
      workload.title,
      ...[upfront, anvil, geth].map((of) => formatNumber(of?.cpuPerRequest)),
      ...ratio(anvil, workload.targets.anvil),
      ...ratio(geth, workload.targets.geth),
      ...[upfront, anvil, geth].map((of) => `${formatNumber(of?.p50)} / ${formatNumber(of?.p99)}`),
      ...[upfront, anvil, geth].map((of) => formatNumber(of?.requestsPerSecond)),
      ...(on.portable === undefined
        ? []
        : [formatNumber(portable?.cpuPerRequest), ...ratio(upfront, MAX_RATIO_TO_NATIVE, portable)]),
    ])
  }
  if (rows.length === 0) return
  const cpu = ['CPU ms: ours', 'anvil fork', 'geth']
  const ratios = ['/ anvil', 'target', '', '/ geth', 'target', '']
  const speed = ['p50/p99 ms: ours', 'anvil', 'geth', 'req/s: ours', 'anvil', 'geth']
  const portable = on.portable === undefined ? [] : ['CPU ms: portable', '/ ours', 'target', '']
  console.log(`Warm\n\n${formatTable(['workload', ...cpu, ...ratios, ...speed, ...portable], rows)}\n`)
}

async function reportCold(on: Stand): Promise<void> {
  const rows: string[][] = []
  const asked: string[] = []
  for (const workload of chosen(COLD_WORKLOADS)) {
    progress(`${workload.title}, cold`)
    const figures = await measureCold(workload, on)
    results[workload.name] = figures
    const { upfront, anvil } = figures
    if (upfront === undefined || anvil === undefined) throw new Error(`no figures for ${workload.name}`)
    const { requests, timeOfAnvil } = workload.targets
    const ratio = upfront.milliseconds / anvil.milliseconds
    rows.push([
      workload.title,
      String(upfront.requests),
      String(anvil.requests),
      ...(requests === undefined ? ['', ''] : [`≤ ${requests}`, verdict(upfront.requests <= requests)]),
      upfront.milliseconds.toFixed(0),
      anvil.milliseconds.toFixed(0),
      ratio.toFixed(2),
      ...(timeOfAnvil === undefined ? ['', ''] : [`≤ ${timeOfAnvil}`, verdict(ratio <= timeOfAnvil)]),
    ])
    asked.push(...upfront.methods.map((methods, index) => `  ${workload.name} ${index + 1}: ${methods}`))
  }
  if (rows.length === 0) return
  const head = ['workload', 'HTTP: ours', 'anvil', 'target', '', 'ms: ours', 'anvil', '/ anvil', 'target', '']
  console.log('Cold, the node 40 ms away; HTTP requests to it beyond resolving the block\n')
  console.log(`${formatTable(head, rows)}\n\nRequests of our gateway:\n${asked.join('\n')}\n`)
}

async function reportOutcome(on: Stand): Promise<void> {
  progress('What decides an outcome')
  const figures = await measureOutcome(on, options.quick ? { seconds: 1, rounds: 3 } : { seconds: 1, rounds: 9 })
  results.outcome = figures
  const rows = Object.entries(figures).map(([title, { plain, depends, outcome }]) => [
    title,
    ...[plain, depends, outcome].map(formatNumber),
    (depends / plain).toFixed(2),
    (outcome / plain).toFixed(2),
    `≤ ${MAX_RATIO_TO_PLAIN}`,
    verdict(outcome / plain <= MAX_RATIO_TO_PLAIN),
  ])
  const head = ['CPU ms', 'plain', '`depends`', '`outcome`', 'depends / plain', 'outcome / plain', 'target', '']
  console.log(`What decides an outcome\n\n${formatTable(head, rows)}\n`)
}

async function reportEventLoop(on: Stand): Promise<void> {
  progress('Event-loop delay')
  const delay = await measureEventLoop(on, options.quick ? 2 : 10)
  results['event-loop'] = delay
  console.log(
    `Event-loop delay while two 45M-gas simulations run: p99 ${delay.p99.toFixed(1)} ms (target < 10: ${verdict(delay.p99 < 10)}), highest ${delay.max.toFixed(1)} ms\n`,
  )
}

async function reportMemory(): Promise<void> {
  const work = options.quick ? { swaps: 1_000, blocks: 50 } : { swaps: 10_000, blocks: 1_000 }
  progress('Memory')
  const memory = await measureMemory(work)
  results.memory = memory
  const rows = [
    [`after ${work.swaps / 10} different swaps`, memory.early.toFixed(0)],
    [`after ${work.swaps}`, memory.swaps.toFixed(0)],
    [`after ${work.blocks} more blocks`, memory.blocks.toFixed(0)],
    [`highest (target < 500: ${verdict(memory.highest < 500)})`, memory.highest.toFixed(0)],
  ]
  console.log(`Memory\n\n${formatTable(['resident', 'MB'], rows)}\n`)
}

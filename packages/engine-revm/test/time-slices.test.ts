import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  codePlan,
  developmentState,
  drive,
  ENDLESS_LOOP,
  NEVER,
  simulated,
  withoutGasLimit,
} from '@upfront/engine-conformance'
import type { StatePoint } from '@upfront/simulation'
import { createRevmEngine, loadRevm } from '../src/index.js'

const { reason } = loadRevm()
// Threads can be inspected only on Linux.
const why = reason ?? (process.platform === 'linux' ? undefined : 'not on Linux')
if (why !== undefined) console.log(`the native build's time slices are skipped: ${why}`)

const at: StatePoint = { key: `0x${'77'.repeat(32)}`, layers: [] }
const TASKS = '/proc/self/task'

/** For each executing thread: whether it runs, and its CPU time in ticks of 10 ms. */
function executing(): { runs: boolean; ticks: number }[] {
  return readdirSync(TASKS)
    .map((task) => readFileSync(`${TASKS}/${task}/stat`, 'latin1'))
    .filter((stat) => stat.includes('(evm)'))
    .map((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' '))
    .map((fields) => ({ runs: fields[0] === 'R', ticks: Number(fields[11]) + Number(fields[12]) }))
}

const test = why === undefined ? it : it.skip

test('long simulations share the cores, all make progress, and a short one completes', async () => {
  const cores = availableParallelism()
  const count = 2 * cores + 3
  const engine = createRevmEngine()
  const gone = new AbortController()
  const endless = withoutGasLimit(codePlan(ENDLESS_LOOP))
  const ends = Array.from({ length: count }, () =>
    drive((async () => engine.begin(endless, at, { signal: gone.signal }))(), developmentState().state).catch(
      ({ message }: Error) => message,
    ),
  )
  while (executing().filter(({ ticks }) => ticks > 4).length < count) await sleep(20)
  const samples: number[] = []
  while (samples.length < 51) {
    samples.push(executing().filter(({ runs }) => runs).length)
    await sleep(3)
  }
  // A thread that has just given its turn away runs until it waits.
  const median = samples.sort((one, other) => one - other)[25]!
  expect(median).toBeLessThanOrEqual(cores + 1)
  expect(median).toBeGreaterThan(0)

  // Some 20 ms: more than the event loop runs at once, and than a simulation gets without a turn.
  const { blocks } = await simulated(engine, codePlan(ENDLESS_LOOP))
  expect(blocks[0]!.calls[0]!.status).toBe('0x0')

  gone.abort(new Error('enough'))
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['enough']))
  expect(
    await drive((async () => engine.begin(codePlan('0x00'), at, NEVER))(), developmentState().state),
  ).toMatchObject({
    failures: [],
  })
  await engine.close()
})

// `npm test`: installs and builds, runs every test of every package, and sums them up in its last line.
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from './build.mjs'
import { packageFolders, root } from './install.mjs'
import { endAll, killGroup, onEnd, start } from './processes.mjs'

/** Suites that run at the same time: most of a suite's time is waiting for services to start and for blocks. */
const AT_ONCE = 2
/** No package's suite takes a third of this on two cores: one that gets here hangs. */
const SUITE_TIMEOUT = 20 * 60_000
/** What a suite may take to exit after its last test. */
const LINGER_TIMEOUT = 15_000
/** What the last lines of a suite that has ended may take to come. */
const LEFT_BEHIND = 2_000
const JEST = join(root, 'node_modules', 'jest', 'bin', 'jest.js')
/** In a package that has crates. */
const CARGO_SUITE = join('test', 'rust.mjs')

onEnd(async () => {
  await endAll()
  process.exit(130)
})

const total = { passed: 0, failed: 0, skipped: 0 }
const broken = []
const reports = mkdtempSync(join(tmpdir(), 'upfront-tests-'))
try {
  await build()
  // `scripts` starts the whole stand, which waits for cargo's lock: the two never run together, as they are first and last.
  const suites = ['scripts', ...packageFolders()]
    .filter(hasJest)
    .map((folder) => ({ name: folder, test: () => testWithJest(folder) }))
  for (const folder of packageFolders().filter((name) => existsSync(join(root, name, CARGO_SUITE))))
    suites.push({ name: `${folder} (cargo)`, test: () => testWithCargo(folder) })
  const lane = async () => {
    for (let suite = suites.shift(); suite !== undefined; suite = suites.shift()) await count(suite)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
} catch (error) {
  console.error(`\nThe tests could not run: ${error.message}`)
  broken.push('the build')
  total.failed += 1
} finally {
  rmSync(reports, { recursive: true, force: true })
}
if (broken.length > 0) console.log(`\nFailed: ${broken.join(', ')}`)
const { passed, failed, skipped } = total
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
await endAll()
process.exit(failed > 0 ? 1 : 0)

function hasJest(folder) {
  return existsSync(join(root, folder, 'jest.config.mjs'))
}

async function count({ name, test }) {
  const began = Date.now()
  console.log(`── ${name} …`)
  const found = await test()
  for (const key of Object.keys(total)) total[key] += found[key]
  if (found.failed > 0) broken.push(name)
  const seconds = Math.round((Date.now() - began) / 1000)
  console.log(`── ${name}: ${found.passed} passed, ${found.failed} failed, ${seconds} s`)
}

/** Shows a suite's output line by line, each under its suite's name: others write at the same time. */
function show(stream, name) {
  createInterface({ input: stream }).on('line', (line) => console.error(`${name} | ${line}`))
}

/** Runs a package's jest suite: its progress goes to the screen, its counts come from jest's report. */
async function testWithJest(folder) {
  const report = join(reports, `${folder.replaceAll('/', '-')}.json`)
  const flags = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning']
  const options = ['--json', `--outputFile=${report}`, '--passWithNoTests', '--maxWorkers=2']
  const code = await runSuite(
    process.execPath,
    [...flags, JEST, ...options],
    { cwd: join(root, folder), stdio: ['ignore', 'ignore', 'pipe'] },
    { name: folder, isDone: () => existsSync(report) },
  )
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0 }
  const result = JSON.parse(readFileSync(report, 'utf8'))
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites
  return {
    passed: result.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: result.numPendingTests + result.numTodoTests,
  }
}

/** Formats, lints and tests a package's crates: counted are the tests that cargo reports. */
async function testWithCargo(folder) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const onOutput = (text) => {
    for (const line of text.matchAll(/^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored/gm))
      for (const [index, key] of ['passed', 'failed', 'skipped'].entries()) counts[key] += Number(line[index + 1])
  }
  const options = { cwd: join(root, folder), stdio: ['ignore', 'pipe', 'pipe'] }
  const code = await runSuite(process.execPath, [CARGO_SUITE], options, { name: 'cargo', onOutput })
  if (code !== 0 && counts.failed === 0) counts.failed = 1
  return counts
}

/** Resolves with the exit code. A suite that hangs is killed: `isDone` tells one that only left something open. */
async function runSuite(command, args, options, { name, onOutput, isDone = () => false }) {
  const child = start(command, args, options)
  let output = ''
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null)
  for (const stream of streams) show(stream, name)
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  const closed = Promise.all(streams.map((stream) => once(stream, 'close')))
  const began = Date.now()
  let doneAt
  let lingering = false
  const watch = setInterval(() => {
    if (isDone()) doneAt ??= Date.now()
    lingering = doneAt !== undefined && Date.now() - doneAt > LINGER_TIMEOUT
    if (!lingering && Date.now() - began < SUITE_TIMEOUT) return
    const why = lingering ? 'left something open and did not exit' : 'did not end in time'
    console.error(`The suite ${why}: killed`)
    killGroup(child.pid)
    clearInterval(watch)
  }, 500)
  const { code } = await child.exited
  clearInterval(watch)
  // A process that it left behind may hold the streams open for ever.
  await Promise.race([closed, sleep(LEFT_BEHIND)])
  onOutput?.(output)
  return lingering ? 0 : (code ?? 1)
}

// `npm test`: installs and builds, runs every test of every package, and sums them up in its last line.
// `npm test -- packages/protocol apps/billing` runs the suites of these folders only.
// A file with a failed test is run once more, alone: a test is failed that fails both times. What passes then is named.
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from './build.mjs'
import { packageFolders, root } from './install.mjs'
import { endAll, killGroup, onEnd, start } from './processes.mjs'

/** Suites that run at the same time: most of a suite's time is waiting for services to start and for blocks. */
const AT_ONCE = 2
/** It takes about as long as all others together: it begins first. */
const LONGEST = 'apps/simulator-gateway'
/** Programs that tests start again and again. */
const BUNDLED = ['apps/simulator-gateway', 'apps/billing', 'examples/metered-seller']
/** More files with failures than this are no accident: none of them is run again. */
const MOST_RUN_AGAIN = 5
/** No package's suite takes this on two cores: one that gets here hangs. */
const SUITE_TIMEOUT = 25 * 60_000
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

if (process.argv.includes('--help')) {
  console.log(
    'npm test installs, builds and runs every test; npm test -- packages/protocol apps/billing those of these folders alone.',
  )
  process.exit(0)
}
const chosen = process.argv.slice(2).map((folder) => folder.replace(/\/$/, ''))
const total = { passed: 0, failed: 0, skipped: 0 }
const broken = []
/** Test files with a failed test: their folder, path in it, names of what failed, and what jest said. */
const failedFiles = []
const reports = mkdtempSync(join(tmpdir(), 'upfront-tests-'))
try {
  await build()
  // It imports what the build installs.
  const { bundle } = await import('./bundle.mjs')
  await Promise.all(BUNDLED.map(bundle))
  process.env.BUNDLED = 'yes'
  // `scripts` starts the whole stand, which waits for cargo's lock: the two never run together, as one lane has both.
  const isChosen = (folder) => chosen.length === 0 || chosen.includes(folder)
  const others = packageFolders().filter((folder) => folder !== LONGEST)
  const suites = [LONGEST, 'scripts', ...others]
    .filter((folder) => isChosen(folder) && hasJest(folder))
    .map((folder) => ({ name: folder, test: () => testWithJest(folder) }))
  const hasCargo = (folder) => existsSync(join(root, folder, CARGO_SUITE))
  for (const folder of packageFolders().filter((folder) => isChosen(folder) && hasCargo(folder)))
    suites.push({ name: `${folder} (cargo)`, test: () => testWithCargo(folder) })
  const lane = async () => {
    for (let suite = suites.shift(); suite !== undefined; suite = suites.shift()) await count(suite)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  if (failedFiles.length <= MOST_RUN_AGAIN) for (const file of failedFiles) await runAgain(file)
  else broken.push(...failedFiles.map(({ folder, path }) => `${folder}/${path}`))
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
  if (found.files?.length > 0) failedFiles.push(...found.files)
  else if (found.failed > 0) broken.push(name)
  const seconds = Math.round((Date.now() - began) / 1000)
  console.log(`── ${name}: ${found.passed} passed, ${found.failed} failed, ${seconds} s`)
}

/** Shows a suite's output line by line, each under its suite's name: others write at the same time. */
function show(stream, name) {
  createInterface({ input: stream }).on('line', (line) => console.error(`${name} | ${line}`))
}

/** Runs a package's jest suite or some of its files: progress goes to the screen, counts come from jest's report. */
async function testWithJest(folder, only = []) {
  const report = join(reports, `${[folder, ...only].join('-').replaceAll('/', '-')}.json`)
  const flags = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning']
  const options = ['--json', `--outputFile=${report}`, '--passWithNoTests', '--maxWorkers=2', ...only]
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
    files: result.testResults
      .filter((file) => file.status === 'failed')
      .map((file) => ({
        folder,
        path: relative(join(root, folder), file.name),
        failed: failedOf(file),
        said: file.message,
      })),
  }
}

/** @returns names of the failed tests of one file of jest's report; one that could not run has the file's own. */
function failedOf({ assertionResults, status, name }) {
  const names = assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName)
  return status === 'failed' && names.length === 0 ? [name] : names
}

/** Runs a file with failed tests once more, when nothing else runs, and corrects the totals by those that fail again. */
async function runAgain({ folder, path, failed, said }) {
  console.log(`\n${folder}/${path} failed:\n${said}\nRunning it again, alone …`)
  const { files } = await testWithJest(folder, ['--runTestsByPath', path])
  const again = files?.flatMap((file) => file.failed) ?? failed
  const twice = failed.filter((name) => again.includes(name))
  total.passed += failed.length - twice.length
  total.failed -= failed.length - twice.length
  if (twice.length > 0) broken.push(`${folder}/${path}`)
  else console.log(`${folder}/${path}: what failed passed when run alone`)
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

// `npm test`: installs and builds, runs every test of every package, and prints the totals last.
// `npm test -- packages/protocol apps/billing` only runs the suites of these folders.
// A file with a failed test is run again, alone. A test counts as failed if it fails both times; one that then passes is reported.
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from './build.mjs'
import { emptyLedger } from './empty-ledger.mjs'
import { packageFolders, root } from './install.mjs'
import { endAll, killGroup, onEnd, start } from './processes.mjs'

/** Concurrent test files: they mostly wait for services to start and for blocks. */
const AT_ONCE = 4
/** Programs that tests start repeatedly. */
const BUNDLED = ['apps/simulator-gateway', 'apps/billing', 'examples/metered-seller']
/** With more failing files than this, the failures are systematic and none is run again. */
const MAX_RUN_AGAIN = 5
/** No package's suite takes this long on two cores: it hangs. */
const SUITE_TIMEOUT = 25 * 60_000
/** How long a suite may take to exit after its last test. */
const LINGER_TIMEOUT = 15_000
/** How long to wait for the last output of a suite that has exited. */
const LEFT_BEHIND = 2_000
const JEST = join(root, 'node_modules', 'jest', 'bin', 'jest.js')
const SEQUENCER = join(root, 'scripts', 'longest-first.cjs')
/** Test script of packages with crates. */
const CARGO_SUITE = join('test', 'rust.mjs')

onEnd(async () => {
  await endAll()
  process.exit(130)
})

if (process.argv.includes('--help')) {
  console.log(
    'npm test installs, builds and runs all tests; npm test -- packages/protocol apps/billing only those of these folders.',
  )
  process.exit(0)
}
const chosen = process.argv.slice(2).map((folder) => folder.replace(/\/$/, ''))
const total = { passed: 0, failed: 0, skipped: 0 }
const broken = []
/** Test files with failed tests: path, names of failed tests, and jest's output. */
const failedFiles = []
/** Folder for jest's reports and the bundled packages. */
const reports = mkdtempSync(join(tmpdir(), 'upfront-tests-'))
try {
  await build(makeBundles)
  const isChosen = (folder) => chosen.length === 0 || chosen.includes(folder)
  const folders = ['scripts', ...packageFolders()].filter(isChosen)
  const has = (file) => (folder) => existsSync(join(root, folder, file))
  await Promise.all([
    count('jest', () => testWithJest(folders.filter(has('jest.config.mjs')))),
    ...folders.filter(has(CARGO_SUITE)).map((folder) => count(`${folder} (cargo)`, () => testWithCargo(folder))),
  ])
  if (failedFiles.length <= MAX_RUN_AGAIN) for (const file of failedFiles) await runAgain(file)
  else broken.push(...failedFiles.map(({ path }) => path))
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

/** Bundles what tests start and import, and makes the empty ledger that they copy. */
async function makeBundles() {
  // Imported late, because it needs packages that the build installs.
  const { bundle, bundlePackages } = await import('./bundle.mjs')
  process.env.BUNDLED = join(reports, 'node_modules')
  const making = [emptyLedger(), bundlePackages(process.env.BUNDLED), ...BUNDLED.map(bundle)]
  ;[process.env.EMPTY_LEDGER] = await Promise.all(making)
}

/** Adds the result of `test` to the totals. */
async function count(name, test) {
  const began = Date.now()
  console.log(`── ${name} …`)
  const found = await test()
  for (const key of Object.keys(total)) total[key] += found[key]
  if (found.files?.length > 0) failedFiles.push(...found.files)
  else if (found.failed > 0) broken.push(name)
  const seconds = Math.round((Date.now() - began) / 1000)
  console.log(`── ${name}: ${found.passed} passed, ${found.failed} failed, ${seconds} s`)
}

/** Prints a suite's output, each line prefixed by the suite's name. */
function show(stream, name) {
  createInterface({ input: stream }).on('line', (line) => console.error(`${name} | ${line}`))
}

/**
 * Runs the jest suites of packages, or some of their files, as a single jest run, so that packages don't wait for each
 * other's last file. Progress is printed; counts come from jest's report.
 */
async function testWithJest(folders, only = []) {
  const report = join(reports, `${['jest', ...only].join('-').replaceAll('/', '-')}.json`)
  const flags = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning']
  // A worker's memory grows with each file, so it is restarted between files.
  const limits = [`--maxWorkers=${AT_ONCE}`, '--workerIdleMemoryLimit=1GB', `--testSequencer=${SEQUENCER}`]
  const options = ['--json', `--outputFile=${report}`, '--passWithNoTests', ...limits]
  const code = await runSuite(
    process.execPath,
    [...flags, JEST, ...options, '--projects', ...folders, ...only],
    { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] },
    { name: 'jest', isDone: () => existsSync(report) },
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
      .map((file) => ({ path: relative(root, file.name), failed: failedOf(file), said: file.message })),
  }
}

/** @returns names of the failed tests of a file in jest's report, or the file's name if it could not run */
function failedOf({ assertionResults, status, name }) {
  const names = assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName)
  return status === 'failed' && names.length === 0 ? [name] : names
}

/** Runs a file with failed tests again, with nothing else running, and corrects the totals by the tests that fail again. */
async function runAgain({ path, failed, said }) {
  console.log(`\n${path} failed:\n${said}\nRunning it again on its own …`)
  const folder = ['scripts', ...packageFolders()].find((folder) => path.startsWith(`${folder}/`))
  const { files } = await testWithJest([folder], ['--runTestsByPath', path])
  const again = files?.flatMap((file) => file.failed) ?? failed
  const twice = failed.filter((name) => again.includes(name))
  total.passed += failed.length - twice.length
  total.failed -= failed.length - twice.length
  if (twice.length > 0) broken.push(path)
  else console.log(`${path}: the failed tests passed when run on their own`)
}

/** Checks format, lints and tests a package's crates. Only cargo's tests are counted. */
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

/** Resolves with the exit code. Kills a suite that hangs; `isDone` identifies one that only left something open. */
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
  // A leftover child process may keep the streams open indefinitely.
  await Promise.race([closed, sleep(LEFT_BEHIND)])
  onOutput?.(output)
  return lingering ? 0 : (code ?? 1)
}

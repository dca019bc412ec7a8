// `npm test`: installs and builds, runs every test of every package, and sums them up in its last line.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build.mjs'
import { packageFolders, root } from './install.mjs'
import { endAll, killGroup, onEnd, start } from './processes.mjs'

/** No package's suite takes a third of this on two cores: one that gets here hangs. */
const SUITE_TIMEOUT = 10 * 60_000
/** What a suite may take to exit after its last test. */
const LINGER_TIMEOUT = 15_000
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
  for (const folder of ['scripts', ...packageFolders()].filter(hasJest)) await count(folder, testWithJest)
  for (const folder of packageFolders().filter((name) => existsSync(join(root, name, CARGO_SUITE))))
    await count(`${folder} (cargo)`, () => testWithCargo(folder))
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

async function count(name, test) {
  console.log(`\n── ${name}`)
  const found = await test(name)
  for (const key of Object.keys(total)) total[key] += found[key]
  if (found.failed > 0) broken.push(name)
}

/** Runs a package's jest suite: its progress goes to the screen, its counts come from jest's report. */
async function testWithJest(folder) {
  const report = join(reports, `${folder.replaceAll('/', '-')}.json`)
  const flags = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning']
  const options = ['--json', `--outputFile=${report}`, '--passWithNoTests', '--maxWorkers=2']
  const code = await runSuite(
    process.execPath,
    [...flags, JEST, ...options],
    { cwd: join(root, folder), stdio: ['ignore', 'ignore', 'inherit'] },
    { isDone: () => existsSync(report) },
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
  const options = { cwd: join(root, folder), stdio: ['ignore', 'pipe', 'inherit'] }
  const code = await runSuite(process.execPath, [CARGO_SUITE], options, { onOutput })
  if (code !== 0 && counts.failed === 0) counts.failed = 1
  return counts
}

/** Resolves with the exit code. A suite that hangs is killed: `isDone` tells one that only left something open. */
async function runSuite(command, args, options, { onOutput, isDone = () => false } = {}) {
  const child = start(command, args, options)
  let output = ''
  child.stdout?.on('data', (chunk) => {
    process.stdout.write(chunk)
    output += chunk
  })
  const closed = child.stdout ? new Promise((resolve) => child.stdout.once('close', resolve)) : undefined
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
  await closed
  clearInterval(watch)
  onOutput?.(output)
  return lingering ? 0 : (code ?? 1)
}

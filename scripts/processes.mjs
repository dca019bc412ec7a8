// Child processes that are stopped together with their descendants.
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** Milliseconds that processes get to exit before they are killed. */
const GRACE = 2_500

const running = new Set()
let ending

/**
 * Starts a process in its own group, so that Ctrl-C in a terminal reaches only this process, which then stops all.
 * @returns {import('node:child_process').ChildProcess & {exited: Promise<{code: number | null, signal: string | null}>}}
 */
export function start(command, args, options = {}) {
  const child = spawn(command, args, { detached: true, ...options })
  child.exited = new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 127, signal: null, error }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  running.add(child)
  // The leader has exited; endAll sweeps the rest of its group.
  child.exited.then(() => running.delete(child))
  return child
}

/** Runs a process to its end. @throws Error that names the command, if it fails */
export async function run(command, args, options = {}) {
  const { code, signal, error } = await start(command, args, { stdio: 'inherit', ...options }).exited
  if (ending !== undefined) return await new Promise(() => {})
  if (code === 0) return
  const how = error ? error.message : signal ? `was ended by ${signal}` : `failed with exit code ${code}`
  throw new Error(`\`${[command, ...args].join(' ')}\` ${how}`)
}

/** Stops everything that `start` started, with all descendants: terminates first, and kills the rest after a while. */
export function endAll() {
  ending ??= endEverything()
  return ending
}

/** Kills everything at once: for a second Ctrl-C and on exit. */
function killAll() {
  for (const child of running) signalGroup(child.pid, 'SIGKILL')
  for (const { pid } of descendants(process.pid)) signalProcess(pid, 'SIGKILL')
}

/** Kills the group that a started process leads. */
export function killGroup(pid) {
  signalGroup(pid, 'SIGKILL')
}

/** Calls `handler(reason)` once when this process should stop: on a signal, or when its terminal or `npm` is gone. */
export function onEnd(handler) {
  let told = false
  const tell = (reason) => {
    if (told) {
      killAll()
      process.exit(1)
    }
    told = true
    handler(reason)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => tell(signal))
  // The terminal or pipe was closed. Without these handlers the write error would end only this process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => !told && tell('output closed'))
  // npm or its shell may be killed without passing on the signal. Only then is a lost ancestor a reason to stop.
  const ancestors = ancestry()
  if (process.env.npm_lifecycle_event !== undefined)
    setInterval(() => !told && ancestry() !== ancestors && tell('npm ended'), 500).unref()
  process.on('exit', killAll)
}

/** Pids of the parent and the grandparent. */
function ancestry() {
  const parent = listProcesses().find(({ pid }) => pid === process.ppid)
  return `${process.ppid} ${parent?.parent}`
}

async function endEverything() {
  const leaders = [...running]
  const left = new Map(descendants(process.pid).map((entry) => [entry.pid, entry.started]))
  for (const { pid } of leaders) signalProcess(pid, 'SIGTERM')
  const deadline = Date.now() + GRACE
  const alive = () => {
    const now = new Map(listProcesses().map((entry) => [entry.pid, entry.started]))
    return [...left].filter(([pid, started]) => now.get(pid) === started).map(([pid]) => pid)
  }
  let swept = false
  while (alive().length > 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    for (const entry of descendants(process.pid)) left.set(entry.pid, entry.started)
    // The leaders have exited but other processes have not, which were not signalled yet.
    if (!swept && running.size === 0) {
      swept = true
      for (const pid of alive()) signalProcess(pid, 'SIGTERM')
    }
  }
  for (const { pid } of leaders) signalGroup(pid, 'SIGKILL')
  for (const pid of alive()) signalProcess(pid, 'SIGKILL')
}

function signalProcess(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error
  }
}

function signalGroup(pid, signal) {
  if (pid !== undefined) signalProcess(-pid, signal)
}

/** All descendants of a process. */
function descendants(root) {
  const all = listProcesses()
  const found = []
  for (let parents = new Set([root]); parents.size > 0; ) {
    const children = all.filter((entry) => parents.has(entry.parent))
    found.push(...children)
    parents = new Set(children.map((entry) => entry.pid))
  }
  return found
}

/** `{pid, parent, started}` of every process except zombies; `started` detects a reused pid. */
function listProcesses() {
  if (process.platform === 'linux')
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
          // The command name in parentheses may contain anything: the fields follow the last one (proc(5): 3 state, 4 ppid, 22 starttime).
          const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
          return fields[0] === 'Z' ? [] : [{ pid: Number(name), parent: Number(fields[1]), started: fields[19] }]
        } catch {
          return [] // It has exited in the meantime.
        }
      })
  return spawnSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,lstart='], { encoding: 'utf8' })
    .stdout.split('\n')
    .flatMap((line) => {
      const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line)
      return match === null || match[3].startsWith('Z')
        ? []
        : [{ pid: Number(match[1]), parent: Number(match[2]), started: match[4] }]
    })
}

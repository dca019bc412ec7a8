import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const processes = new URL('../processes.mjs', import.meta.url).href
const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Runs a program that starts a tree of processes and prints their pids; resolves once it has printed `count` of them. */
async function startTree(child, count) {
  const program = `
    import { endAll, onEnd, start } from ${JSON.stringify(processes)}
    onEnd(async () => { await endAll(); process.exit(0) })
    start('sh', ['-c', ${JSON.stringify(child)}], { stdio: ['ignore', 'inherit', 'ignore'] })
    setInterval(() => {}, 1000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH },
  })
  const pids = []
  // Leaving the loop closes the pipe, which would kill a child that still has to write.
  for await (const line of createInterface({ input: parent.stdout })) {
    pids.push(Number(line))
    if (pids.length === count) break
  }
  expect(pids.every(isAlive)).toBe(true)
  return { parent, pids }
}

async function endsWithin(parent, pids, milliseconds) {
  const deadline = Date.now() + milliseconds
  while (Date.now() < deadline && (parent.exitCode === null || pids.some(isAlive))) await sleep(50)
  return { exitCode: parent.exitCode, alive: pids.filter(isAlive) }
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'])(
  '%s ends children of children',
  async (signal) => {
    const { parent, pids } = await startTree('sleep 100 & echo $!; (sleep 100 & echo $!; wait) & echo $!; wait', 3)
    parent.kill(signal)
    expect(await endsWithin(parent, pids, 5_000)).toEqual({ exitCode: 0, alive: [] })
  },
  20_000,
)

test('kills a child that ignores SIGTERM and SIGINT', async () => {
  const { parent, pids } = await startTree(
    `trap '' TERM INT; sh -c "trap '' TERM; echo \\$\\$; while :; do sleep 1; done"`,
    1,
  )
  parent.kill('SIGINT')
  expect(await endsWithin(parent, pids, 5_000)).toEqual({ exitCode: 0, alive: [] })
}, 20_000)

test('ends a process that moved to its own session', async () => {
  const { parent, pids } = await startTree(
    `${process.execPath} -e "
      const child = require('child_process').spawn('sleep', ['100'], { detached: true, stdio: 'ignore' })
      console.log(child.pid); setInterval(() => {}, 1000)"`,
    1,
  )
  parent.kill('SIGTERM')
  expect(await endsWithin(parent, pids, 5_000)).toEqual({ exitCode: 0, alive: [] })
}, 20_000)

test('kills immediately on a second signal', async () => {
  const { parent, pids } = await startTree(`trap '' TERM INT; echo $$; while :; do sleep 1; done`, 1)
  parent.kill('SIGINT')
  await sleep(300)
  parent.kill('SIGINT')
  await once(parent, 'exit')
  expect((await endsWithin(parent, pids, 2_000)).alive).toEqual([])
}, 20_000)

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { builtProgram } from '../../testing/devnet/dist/index.js'
import { snippets } from './snippets.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const started = []

afterEach(() => {
  for (const stand of started.splice(0)) for (const path of leftOf(stand)) killIfThere(Number(path.split('/')[2]))
})

/** A process may exit between being listed and being killed. */
function killIfThere(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

async function freePorts(count) {
  // All are held at once, because a released port may be returned again.
  const servers = Array.from({ length: count }, () => createServer())
  await Promise.all(servers.map((server) => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))))
  const ports = servers.map((server) => server.address().port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** Runs `npm start` on free ports; `output` grows as it prints. */
async function npmStart(environment = {}) {
  const variables = ['DEVNET_PORT', 'DEVNET_FLASHBLOCKS_PORT', 'GATEWAY_PORT', 'BILLING_PORT']
  const free = await freePorts(variables.length)
  const ports = Object.fromEntries(variables.map((variable, at) => [variable, free[at]]))
  const child = spawn('npm', ['start'], {
    cwd: root,
    detached: true,
    env: { ...process.env, NODE_OPTIONS: '', ...ports, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stand = { child, ports: { ...ports, ...environment }, output: '', until }
  started.push(stand)
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      stand.output += chunk
    })
  async function until(pattern) {
    for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(100)) {
      const match = pattern.exec(stand.output)
      if (match !== null) return match
      if (child.exitCode !== null) break
    }
    throw new Error(`${pattern} did not come up in:\n${stand.output}`)
  }
  return stand
}

/** A `ps`-like line for every process whose environment contains the stand's gateway port: everything that it started. */
function leftOf({ ports }) {
  const script = `grep -lzs '^GATEWAY_PORT=${ports.GATEWAY_PORT}$' /proc/[0-9]*/environ || true`
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean)
}

/** Web pages may call the stand and read its headers; simulated blocks use the chain's block time. */
async function expectOpenToPages({ ports }) {
  const request = { blockStateCalls: [{}, {}] }
  const response = await fetch(`http://127.0.0.1:${ports.GATEWAY_PORT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: 'http://localhost:3000' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [request, 'latest'] }),
  })
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  const exposed = response.headers.get('access-control-expose-headers')
  for (const name of ['upfront-state', 'retry-after']) expect(exposed).toContain(name)
  const [first, second] = (await response.json()).result
  expect(second.timestamp - first.timestamp).toBe(2)
}

const onLinux = process.platform === 'linux' ? test : test.skip // Reads /proc to find leftover processes.

onLinux(
  'npm start prints a curl command that works, runs the documents’ commands, and ends within 5 s of Ctrl-C',
  async () => {
    // Without bundles, as users run it; the other tests use bundles.
    const stand = await npmStart({ GATEWAY_WORKRS: '1', DEVNET_PROT: '1', BUNDLED: undefined })
    const [curl] = await stand.until(/^curl .*$/m)
    expect(stand.output).toContain('GATEWAY_WORKRS is not a setting: did you mean GATEWAY_WORKERS?')
    expect(stand.output).toContain('DEVNET_PROT is not a setting: did you mean DEVNET_PORT?')
    const answer = JSON.parse(execFileSync('sh', ['-c', curl], { encoding: 'utf8' }))
    expect(answer.result[0].calls[0]).toMatchObject({ status: '0x1', gasUsed: '0x5208' })
    expect(answer.result[0].calls[0].logs).toHaveLength(1)
    await expectOpenToPages(stand)
    const run = snippets().filter(({ notRun }) => notRun === undefined)
    expect(run.length).toBeGreaterThanOrEqual(5)
    for (const { document, text } of run) {
      const here = text
        .replaceAll(/\b(127\.0\.0\.1|localhost):8080\b/g, `127.0.0.1:${stand.ports.GATEWAY_PORT}`)
        .replaceAll(/\b(127\.0\.0\.1|localhost):8081\b/g, `127.0.0.1:${stand.ports.BILLING_PORT}`)
      const { status, stdout, stderr } = spawnSync('sh', ['-c', here], { cwd: root, encoding: 'utf8' })
      expect({ document, text, status, stderr: status === 0 ? '' : stderr }).toEqual({
        document,
        text,
        status: 0,
        stderr: '',
      })
      if (/^curl /m.test(text)) expect(stdout).toMatch(/"result":|^HTTP\/1\.1 402 /)
      if (/sha256sum/.test(text)) expect(stdout).toMatch(/^[0-9a-f]{64} /)
    }
    const [, billing, token] = await stand.until(/BILLING_URL=(\S+) BILLING_TOKEN=(\S+) NETWORK=eip155:31337 ASSET=0x/)
    expect((await fetch(`${billing}/payments`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)

    // As a terminal does: to the whole foreground process group.
    process.kill(-stand.child.pid, 'SIGINT')
    for (const deadline = Date.now() + 5_000; Date.now() < deadline && leftOf(stand).length > 0; ) await sleep(100)
    expect(leftOf(stand)).toEqual([])
  },
  180_000,
)

onLinux(
  'two stands from one checkout run independently, and a signal to npm alone ends everything',
  async () => {
    const stands = [await npmStart(), await npmStart()]
    for (const stand of stands) {
      const [, demo] = await stand.until(/Pay for a simulation: `(.*)`/)
      const bought = execFileSync('sh', ['-c', demo], { cwd: root, encoding: 'utf8' })
      expect(bought).toMatch(/Charged \$0\.\d+ of at most/)
      expect(bought).toContain('The bill is right.')
      expect(bought).toContain(`http://127.0.0.1:${stand.ports.GATEWAY_PORT}`)
      expect(existsSync(`${root}.data/receipt-127.0.0.1-${stand.ports.GATEWAY_PORT}.json`)).toBe(true)
      const [, logs] = await stand.until(/logs are in (\S+)\.$/m)
      expect(readFileSync(`${root}${logs}/gateway.log`, 'utf8')).toContain(`:${stand.ports.GATEWAY_PORT}`)
    }
    const watched = /Watch the block under construction: `(.*)`/.exec(stands[1].output)
    if (watched !== null) {
      const watch = spawn('sh', ['-c', watched[1]], {
        cwd: root,
        detached: true,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let said = ''
      for await (const chunk of watch.stdout) {
        said += chunk
        if (/flashblock/.test(said.split('\n').slice(2).join('\n'))) break
      }
      process.kill(-watch.pid, 'SIGINT')
      expect(said).toContain(`gateway at http://127.0.0.1:${stands[1].ports.GATEWAY_PORT}`)
    }
    for (const [index, signal] of ['SIGTERM', 'SIGKILL'].entries()) stands[index].child.kill(signal)
    for (
      const deadline = Date.now() + 10_000;
      Date.now() < deadline && stands.some((stand) => leftOf(stand).length > 0);
    )
      await sleep(100)
    expect(stands.flatMap(leftOf)).toEqual([])
  },
  300_000,
)

test('names a port in use and the variable that changes it', async () => {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  const stand = await npmStart({ GATEWAY_PORT: String(port) })
  await stand.until(new RegExp(`port ${port} of the gateway is in use: set GATEWAY_PORT`))
  server.close()
}, 60_000)

onLinux(
  'stops everything if a service crashes, and names the service',
  async () => {
    const stand = await npmStart()
    await stand.until(/^curl /m)
    const [anvil] = leftOf(stand).filter((path) => {
      const pid = path.split('/')[2]
      return execFileSync('sh', ['-c', `tr '\\0' ' ' < /proc/${pid}/cmdline`], { encoding: 'utf8' }).includes(
        'bin/anvil',
      )
    })
    process.kill(Number(anvil.split('/')[2]), 'SIGKILL')
    await stand.until(/Error: the local chain ended with exit code 1/)
    for (const deadline = Date.now() + 5_000; Date.now() < deadline && leftOf(stand).length > 0; ) await sleep(100)
    expect(leftOf(stand)).toEqual([])
  },
  180_000,
)

test.each([
  ['npm start', 'scripts/start.mjs', /GATEWAY_PORT +8080/],
  ['npm test', 'scripts/test.mjs', /npm test/],
  ['the local chain', 'testing/devnet/dist/main.js', /DEVNET_PORT +8545/],
  ['the gateway', builtProgram('apps/simulator-gateway'), /GATEWAY_PORT +8080/],
  ['billing', builtProgram('apps/billing'), /BILLING_PORT +8081/],
  ['watch', 'apps/simulator-gateway/dist/ops/watch/main.js', /GATEWAY_PORT/],
  ['the demo', 'examples/paying-buyer/dist/main.js', /GATEWAY_PORT/],
  ['the metered seller', builtProgram('examples/metered-seller'), /PORT +8082/],
])('%s lists its settings with --help', (_, program, expected) => {
  expect(execFileSync(process.execPath, [program, '--help'], { cwd: root, encoding: 'utf8' })).toMatch(expected)
})

// Our packages as a third party gets them: from their tarballs alone, with the dependencies that they declare.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { builtProgram, emptyLedger, freePort, startDevnet } from '../../testing/devnet/dist/index.js'
import { root } from '../install.mjs'
import { installPacked, link } from './install-packed.mjs'
import { fileIn, snippets, textOf } from './snippets.mjs'

const run = promisify(execFile)
const PACKAGES = ['protocol', 'facilitator-adapter', 'nestjs-x402']
const project = mkdtempSync(join(tmpdir(), 'stranger-'))
const modules = join(project, 'node_modules')
const seller = join(root, 'packages', 'nestjs-x402')
let manifests

beforeAll(async () => {
  manifests = await installPacked(project, PACKAGES)
  // The packages that the READMEs require in addition, and those of every NestJS project.
  for (const name of ['@x402/core', '@x402/evm', '@x402/fetch', 'viem']) link(name, seller, modules)
  for (const name of ['@nestjs/platform-express', '@nestjs/testing']) link(name, seller, modules)
  for (const name of ['@types/node', '@types/jest', 'jest', '@swc/jest', '@swc/core']) link(name, root, modules)
}, 60_000)
afterAll(() => rmSync(project, { recursive: true, force: true }))

const readmeOf = (name) => readFileSync(join(modules, '@upfront', name, 'README.md'), 'utf8')
const exampleOf = (name) => /```ts\n([\s\S]*?)```/.exec(readmeOf(name))[1]
const fileOf = (name) => fileIn(readmeOf('nestjs-x402'), name)

/** Compiles with the README's settings, including tests and library types. */
async function compile(files) {
  const settings = fileOf('tsconfig.json').replace('["node"]', '["node", "jest"]').replace('["*.spec.ts"]', '[]')
  for (const [name, text] of Object.entries({ ...files, 'tsconfig.json': settings }))
    writeFileSync(join(project, name), text)
  await run(join(root, 'node_modules', '.bin', 'tsc'), [], { cwd: project }).catch((error) => {
    throw new Error(error.stdout)
  })
}

it.each(PACKAGES)('%s has the files and manifest fields for publishing', (name) => {
  const manifest = manifests[name]
  expect(manifest.private).toBeUndefined()
  expect(manifest).toMatchObject({
    license: 'Apache-2.0',
    description: expect.any(String),
    version: expect.any(String),
  })
  expect(readFileSync(join(modules, '@upfront', name, 'LICENSE'), 'utf8')).toContain('Apache License')
  for (const [dependency, range] of Object.entries(manifest.dependencies)) {
    expect([dependency, range]).toEqual([dependency, expect.stringMatching(/^\d+\.\d+\.\d+$/)])
  }
  expect(manifest.dependencies['@upfront/protocol'] ?? manifests.protocol.version).toBe(manifests.protocol.version)
})

/** A facilitator without a chain, which accepts every payment. @returns its server, and the settled amounts */
async function startFacilitator() {
  const settled = []
  const extra = { facilitatorAddress: `0x${'fa'.repeat(20)}` }
  const kinds = [{ x402Version: 2, scheme: 'upto', network: 'eip155:84532', extra }]
  const answers = {
    '/supported': () => ({ kinds, extensions: [], signers: {} }),
    '/verify': () => ({ isValid: true }),
    '/settle': ({ paymentRequirements: { amount, network } }) => {
      settled.push(amount)
      return { success: true, transaction: `0x${'5e'.repeat(32)}`, network, amount }
    },
  }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answers[request.url](body === '' ? {} : JSON.parse(body))))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, settled }
}

it('the README examples compile, the app answers 402, and the buyer pays', async () => {
  const { server: facilitator, settled } = await startFacilitator()
  const module = fileOf('app.module.ts').replace(
    'https://facilitator.example',
    `http://127.0.0.1:${facilitator.address().port}`,
  )
  const listen = "app.listen(0, '127.0.0.1')\nconsole.log('at', await app.getUrl())"
  const main = fileOf('main.ts').replace('app.listen(3000)', listen)
  writeFileSync(join(project, 'package.json'), '{"type": "module"}')
  const spec = fileOf('report.spec.ts')
  await compile({
    'report.spec.ts': spec,
    'app.module.ts': module,
    'main.ts': main,
    'buy.ts': fileOf('buy.ts'),
    'adapter.ts': exampleOf('facilitator-adapter'),
  })
  await run(process.execPath, ['adapter.js'], { cwd: project })

  const app = spawn(process.execPath, ['main.js'], { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [app.stdout, app.stderr]) stream.on('data', (data) => (output += data))
  try {
    while (!/at http:\S+\n/.test(output)) {
      if (app.exitCode !== null) throw new Error(output)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const [, url] = /at (http:\S+)\n/.exec(output)
    const response = await fetch(`${url}/report`)
    expect(response.status).toBe(402)
    const { accepts } = await response.json()
    expect(accepts).toMatchObject([{ scheme: 'upto', network: 'eip155:84532', amount: '100000' }])
    const buyer = readFileSync(join(project, 'buy.js'), 'utf8').replace('http://localhost:3000', url)
    writeFileSync(join(project, 'buy.js'), buyer)
    const env = { PATH: process.env.PATH, BUYER_PRIVATE_KEY: `0x${'42'.repeat(32)}` }
    const { stdout } = await run(process.execPath, ['buy.js'], { cwd: project, env })
    const [, pages] = /200 \{ pages: (\d+) \}/.exec(stdout)
    expect(settled).toEqual([String(Number(pages) * 1000)])
    expect(stdout).toContain('success: true')
  } finally {
    const closed = once(app, 'close')
    app.kill('SIGKILL')
    await closed
    facilitator.closeAllConnections()
    facilitator.close()
  }
}, 120_000)

it('docs/selling.md and docs/buying.md lead from an empty folder to a paid answer that billing settles', async () => {
  const [shop, home] = [join(project, 'shop'), join(project, 'home')]
  for (const folder of [shop, home]) mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true })
  const commands = snippets().filter(({ notRun }) => /packages\.test\.mjs/.test(notRun))
  const linesOf = (document) =>
    commands.flatMap((snippet) => (snippet.document === document ? snippet.text.trim().split('\n') : []))
  const [pack, init, ...sell] = linesOf('docs/selling.md')
  expect([...pack.matchAll(/--filter @upfront\/(\S+)/g)].map(([, name]) => name).sort()).toEqual([...PACKAGES].sort())
  const [installBuyer, ...buys] = linesOf('docs/buying.md')
  /** Installs exactly the packages of an `npm install` command into a folder. */
  function install(line, folder) {
    const [, names] = /^npm install (?:-D )?(.*)$/.exec(line)
    for (const name of names.split(' '))
      if (name === '../packed/*.tgz') symlinkSync(join(modules, '@upfront'), join(folder, 'node_modules', '@upfront'))
      else link(name, /^(typescript|@types\/node)$/.test(name) ? root : seller, join(folder, 'node_modules'))
  }
  await run('sh', ['-c', init], { cwd: shop })
  const start = sell.pop()
  for (const line of sell) install(line, shop)
  install(installBuyer, home)
  symlinkSync('../typescript/bin/tsc', join(shop, 'node_modules', '.bin', 'tsc'))
  for (const name of ['tsconfig.json', 'app.ts'])
    writeFileSync(join(shop, name), fileIn(textOf('docs/selling.md'), name))
  writeFileSync(join(home, 'buy.mjs'), fileIn(textOf('docs/buying.md'), 'buy.mjs'))

  const devnet = await startDevnet()
  const [billingPort, token] = [await freePort(), 'a-token']
  const { accounts, contracts, rpcUrl } = devnet
  const tokens = { [contracts.usdc]: { name: 'USDC', version: '2', decimals: 6 } }
  const billing = spawn(process.execPath, [builtProgram('apps/billing')], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      BILLING_PORT: String(billingPort),
      BILLING_TOKEN: token,
      BILLING_DATA_DIR: emptyLedger(join(project, 'ledger')),
      FACILITATOR_PRIVATE_KEYS: accounts.facilitators[0].privateKey,
      CHAINS: JSON.stringify({ 'eip155:31337': { rpcUrl, confirmations: 1, tokens } }),
    },
  })
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    PORT: String(port),
    BILLING_URL: `http://127.0.0.1:${billingPort}`,
    BILLING_TOKEN: token,
    NETWORK: 'eip155:31337',
    ASSET: contracts.usdc,
    PAY_TO: accounts.seller.address,
    BUYER_PRIVATE_KEY: accounts.buyer.privateKey,
  }
  let app
  try {
    while (!(await fetch(`${env.BILLING_URL}/health`).catch(() => undefined))?.ok) {
      if (billing.exitCode !== null) throw new Error(`billing ended with ${billing.exitCode}`)
      await sleep(100)
    }
    app = spawn('sh', ['-c', start], { cwd: shop, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    app.stdout.on('data', (data) => (output += data))
    while ((await fetch(`http://127.0.0.1:${port}/report`).catch(() => undefined))?.status !== 402) {
      if (app.exitCode !== null) throw new Error(`the app ended with ${app.exitCode}: ${output}`)
      await sleep(100)
    }
    const said = []
    for (const buy of buys) said.push((await run('sh', ['-c', buy.replace('3000', port)], { cwd: home, env })).stdout)
    expect(said).toEqual(['200 { pages: 3 }', '200 { lines: 12 }'].map((answer) => expect.stringContaining(answer)))
    const settled = (amount) => expect.stringMatching(`(?=[^]*success: true)(?=[^]*amount: '${amount}')`)
    expect(said).toEqual([settled(3_000), settled(2_000)])
  } finally {
    // Kills the shell and its children.
    if (app?.exitCode === null) process.kill(-app.pid, 'SIGKILL')
    billing.kill('SIGKILL')
    await devnet.stop()
  }
}, 180_000)

it.each([
  ['ES modules', 'jest.config.js', '{"type": "module"}', { NODE_OPTIONS: '--experimental-vm-modules' }],
  ['CommonJS', 'jest.config.cjs', '{}', { NODE_OPTIONS: '' }],
])(
  'the README’s test passes unchanged in a project of %s',
  async (kind, config, manifest, environment) => {
    const folder = join(project, kind.replace(' ', '-'))
    mkdirSync(folder)
    symlinkSync(modules, join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), manifest)
    for (const name of ['app.module.ts', 'report.spec.ts', config]) writeFileSync(join(folder, name), fileOf(name))
    const jest = [join(modules, 'jest', 'bin', 'jest.js'), '--config', config, '--rootDir', '.']
    const { stderr } = await run(process.execPath, jest, {
      cwd: folder,
      env: { PATH: process.env.PATH, ...environment },
    })
    expect(stderr).toContain('1 passed')
  },
  120_000,
)

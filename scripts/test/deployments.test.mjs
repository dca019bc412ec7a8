// Every service of compose.yaml and every pod of the chart, run as a process with its environment
// from there. Only addresses, ports and folders are replaced.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load, loadAll, YAML11_SCHEMA } from 'js-yaml'
import {
  builtProgram,
  DEVNET_ROLES,
  freePort,
  postgresMissing,
  startPostgres,
  USDC_ADDRESS,
} from '../../testing/devnet/dist/index.js'
import { root } from '../install.mjs'

const PROGRAMS = {
  devnet: join(root, 'testing/devnet/dist/main.js'),
  billing: builtProgram('apps/billing'),
  gateway: builtProgram('apps/simulator-gateway'),
}
const read = (path) => readFileSync(join(root, path), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'deployments-'))
const children = []
let postgres

beforeAll(async () => {
  if (postgresMissing() === null) postgres = await startPostgres()
}, 60_000)
afterAll(async () => {
  for (const child of children.reverse()) {
    if (child.exitCode !== null) continue
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
}, 60_000)

/** Environment and health check of a stage of the Dockerfile, including its base stages. */
function imageOf(stage) {
  const stages = read('infra/Dockerfile')
    .replaceAll(/\\\n/g, ' ')
    .split(/^FROM /m)
  const text = stages.find((candidate) => candidate.split('\n', 1)[0].endsWith(` AS ${stage}`))
  if (text === undefined) return { environment: {} }
  const below = imageOf(text.split(' ', 1)[0])
  const environment = { ...below.environment }
  for (const [, line] of text.matchAll(/^ENV (.*)$/gm))
    for (const pair of line.trim().split(/\s+/)) environment[pair.split('=')[0]] = pair.split('=')[1]
  const check = /^HEALTHCHECK.*? CMD (\[.*\])\s*$/m.exec(text)?.[1]
  return { environment, check: check === undefined ? below.check : JSON.parse(check) }
}

/** Starts a service with exactly this environment. `hosts`: replacements for `name:port`. */
async function start(name, environment, hosts) {
  const prefix = name.toUpperCase()
  const port = await freePort()
  const here = Object.entries(environment).map(([variable, value]) => {
    let text = String(value).replaceAll(/^\/(data|tmp)(?=\/)/g, folder)
    for (const [host, address] of Object.entries(hosts)) text = text.replaceAll(host, address)
    return [variable, text]
  })
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    ...Object.fromEntries(here),
    [`${prefix}_PORT`]: String(port),
    [`${prefix}_HOST`]: '127.0.0.1',
  }
  const child = spawn(process.execPath, [PROGRAMS[name]], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  await new Promise((resolve, reject) => {
    child.stdout.on('data', () => /listen/i.test(output) && resolve())
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}: ${output}`)))
  })
  return { address: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}`, env }
}

async function rpc(url, method, params = []) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return response.status === 402 ? 402 : (await response.json()).result
}

const simulation = [{ blockStateCalls: [{ calls: [{ to: USDC_ADDRESS }] }] }, 'latest']

/** Whether the check passes within 20 s: a service that listens may not have reached its node yet. */
async function isHealthy({ check }, { env }) {
  if (check === undefined) return true
  const [, ...args] = check
  for (const until = Date.now() + 20_000; Date.now() < until; await sleep(100))
    if (spawnSync(process.execPath, args, { env }).status === 0) return true
  return false
}

const portOf = ({ url }) => new URL(url).port

/** Compose's `${VARIABLE:-default}`, with no variable set. */
const interpolated = (text) => String(text).replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')

const missing = postgresMissing()
const withPostgres = missing === null ? describe : describe.skip

withPostgres(`compose.yaml${missing === null ? '' : ` (skipped: ${missing})`}`, () => {
  const { services, configs } = load(read('infra/compose.yaml'), { schema: YAML11_SCHEMA })
  const hosts = {}

  async function startService(name, program, here = {}) {
    const { environment, build } = services[name]
    const image = imageOf(build.target)
    const given = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, interpolated(value)]))
    const started = await start(program, { ...image.environment, ...given, ...here }, hosts)
    expect(await isHealthy(image, started)).toBe(true)
    return started
  }

  it('starts the default services, and sells a simulation', async () => {
    hosts['postgres://upfront:upfront@postgres:5432/upfront'] = postgres.createDatabase('compose')
    const stream = await freePort()
    const devnet = await startService('devnet', 'devnet', { DEVNET_FLASHBLOCKS_PORT: String(stream) })
    hosts['devnet:8545'] = devnet.address
    hosts['devnet:8546'] = `127.0.0.1:${stream}`
    const billing = await startService('billing', 'billing')
    hosts['billing:8081'] = billing.address
    expect((await fetch(`${billing.url}/health`)).status).toBe(200)
    const [{ source, target }] = services.gateway.configs
    hosts[target] = join(root, 'infra', configs[source].file)
    const gateway = await startService('gateway', 'gateway')
    expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200)
    expect(await rpc(gateway.url, 'eth_simulateV1', simulation)).toHaveLength(1)
    expect(await rpc(`${gateway.url}/v1/simulate`, 'eth_simulateV1', simulation)).toBe(402)
    // As with `npm start`: a receipt, and sponsored gas for a buyer without an approval.
    const demo = spawnSync(process.execPath, [join(root, 'examples/paying-buyer/dist/main.js')], {
      cwd: folder,
      env: { PATH: process.env.PATH, GATEWAY_PORT: portOf(gateway), DEVNET_PORT: portOf(devnet) },
      encoding: 'utf8',
    })
    expect(demo.stdout).toContain('The bill is right.')
    expect(
      Object.keys(services)
        .filter((name) => services[name].profiles === undefined)
        .sort(),
    ).toEqual(['billing', 'devnet', 'gateway', 'postgres'])
    // Services of profiles: each is started below, except eRPC itself, whose image needs a registry.
    expect(
      Object.keys(services)
        .filter((name) => services[name].profiles !== undefined)
        .sort(),
    ).toEqual(['erpc', 'gateway-base', 'gateway-base-sepolia', 'gateway-erpc'])
  }, 120_000)

  it('deletes the ledger together with the chain', () => {
    const { devnet, postgres: database, gateway, ...others } = services
    // Data in memory or on a tmpfs is lost with the container; a named volume would outlive the chain.
    for (const { volumes = [] } of [devnet, database, gateway, others.billing]) expect(volumes).toEqual([])
    expect(database.tmpfs).toEqual(['/var/lib/postgresql/data'])
    for (const { depends_on } of [database, gateway, others.billing])
      expect(depends_on.devnet).toEqual({ condition: 'service_healthy', restart: true })
  })

  it('points gateway-erpc at the address of eRPC in erpc.yaml', async () => {
    const { server, projects, ...others } = load(read('infra/erpc.yaml'))
    const [{ id, networks, upstreams }] = projects
    const upstream = `erpc:${server.httpPort}/${id}/evm/${networks[0].evm.chainId}`
    expect(services['gateway-erpc'].environment.UPSTREAM_RPC_URL).toBe(`http://${upstream}`)
    expect(services.erpc.volumes).toEqual(['./erpc.yaml:/erpc.yaml:ro'])
    expect(upstreams.map(({ endpoint }) => endpoint)).toEqual(
      Object.keys(services.erpc.environment).map((variable) => `\${${variable}}`),
    )
    expect(others.database).toEqual({ evmJsonRpcCache: null })
    hosts[upstream] = hosts['devnet:8545']
    const gateway = await startService('gateway-erpc', 'gateway')
    expect(await rpc(gateway.url, 'eth_simulateV1', simulation)).toHaveLength(1)
  }, 60_000)

  it.each(['gateway-base', 'gateway-base-sepolia'])(
    'starts %s without a flashblock stream, because Base no longer has one',
    async (name) => {
      expect(interpolated(services[name].environment.FLASHBLOCKS_WS_URL)).toBe('')
      // The local chain replaces Base.
      const upstream = interpolated(services[name].environment.UPSTREAM_RPC_URL)
      hosts[upstream] = `http://${hosts['devnet:8545']}`
      const gateway = await startService(name, 'gateway')
      expect(await rpc(gateway.url, 'eth_simulateV1', simulation)).toHaveLength(1)
    },
    60_000,
  )
})

const { program: composeReader, reason: whyNoReader } = buildProgram('compose-file')
const itWithReader = composeReader === undefined ? it.skip : it
itWithReader(`compose.yaml is what Compose's own reader takes, with every profile${whyNoReader}`, () => {
  const path = join(root, 'infra/compose.yaml')
  const { services } = load(read('infra/compose.yaml'), { schema: YAML11_SCHEMA })
  const names = Object.keys(services).sort()
  expect(spawnSync(composeReader, [path], { encoding: 'utf8' })).toMatchObject({
    ...{ status: 0, stderr: '', stdout: `${names.join('\n')}\n` },
  })
  const misspelt = join(folder, 'compose.yaml')
  writeFileSync(misspelt, read('infra/compose.yaml').replace('depends_on:', 'depend_on:'))
  expect(spawnSync(composeReader, [misspelt], { encoding: 'utf8' }).stderr).toMatch(/depend_on/)
})

const helm = findHelm()
const withHelm = helm === undefined || missing !== null ? describe.skip : describe

withHelm(`the chart${helm === undefined ? ' (skipped: helm is not installed)' : ''}`, () => {
  const WORKLOADS = ['Deployment', 'StatefulSet']
  const SALE = {
    'billing.enabled': 'true',
    'gateway.sale.network': 'eip155:31337',
    'gateway.sale.asset': USDC_ADDRESS,
    'gateway.sale.payTo': DEVNET_ROLES.seller.address,
  }

  const EVERYTHING = {
    ...SALE,
    'gateway.files.existingSecret': 'files',
    'gateway.limits.gas': '100000000',
    'gateway.limits.callsPerSecond': '0',
    'gateway.files.keys.RECEIPT_KEYS_FILE': 'receipt-keys.json',
    'billing.files.existingSecret': 'keys',
    'billing.files.keys.FACILITATOR_PRIVATE_KEYS_FILE': 'keys.json',
    'gateway.ingress.enabled': 'true',
    'gateway.ingress.host': 'simulate.example',
    'gateway.ingress.tlsSecret': 'certificate',
    'gateway.ingress.className': 'nginx',
    'gateway.serviceAccount.create': 'true',
    'billing.serviceAccount.name': 'of-billing',
    'gateway.nodeSelector.pool': 'simulators',
    'gateway.tolerations[0].key': 'simulators',
    'gateway.tolerations[0].operator': 'Exists',
    'gateway.podAnnotations.team': 'upfront',
    'gateway.journal.storageClass': 'fast',
    'imagePullSecrets[0]': 'registry',
    'gateway.autoscaling.enabled': 'true',
    'gateway.autoscaling.requestsInFlight': '16',
    'networkPolicy.enabled': 'true',
  }

  function manifests(values) {
    const isText = (key, value) => !['true', 'false'].includes(value) && !key.startsWith('gateway.limits.')
    const args = Object.entries(values).flatMap(([key, value]) => [
      isText(key, value) ? '--set-string' : '--set',
      `${key}=${value}`,
    ])
    const chart = join(root, 'infra/helm/upfront')
    return execFileSync(helm, ['template', 'sim', chart, ...args], { encoding: 'utf8', stdio: 'pipe' })
  }

  const render = (values) => loadAll(manifests(values))

  const containerOf = (documents, name) =>
    documents.find(({ kind, metadata }) => WORKLOADS.includes(kind) && metadata.name === `sim-${name}`).spec.template
      .spec.containers[0]

  /** The pod's environment merged with its secret, and the responses to its own probes. */
  async function startPod(documents, name, secret, hosts) {
    const { env = [], livenessProbe, readinessProbe } = containerOf(documents, name)
    const environment = Object.fromEntries(env.map(({ name: variable, value }) => [variable, value]))
    const pod = await start(name, { ...imageOf(name).environment, ...secret, ...environment }, hosts)
    for (const { httpGet } of [livenessProbe, readinessProbe])
      expect((await fetch(pod.url + httpGet.path)).status).toBe(200)
    return pod
  }

  it('starts a gateway without billing, and one that sells through billing', async () => {
    const devnet = await start('devnet', {}, {})
    const gatewaySecret = { UPSTREAM_RPC_URL: devnet.url, BILLING_TOKEN: 'of-the-chart' }
    const alone = await startPod(render({}), 'gateway', gatewaySecret, {})
    expect(await rpc(alone.url, 'eth_simulateV1', simulation)).toHaveLength(1)

    const documents = render(SALE)
    const billing = await startPod(
      documents,
      'billing',
      {
        DATABASE_URL: postgres.createDatabase('chart'),
        BILLING_TOKEN: 'of-the-chart',
        FACILITATOR_PRIVATE_KEYS: DEVNET_ROLES.facilitators.map(({ privateKey }) => privateKey).join(),
        CHAINS: JSON.stringify({
          'eip155:31337': {
            rpcUrl: devnet.url,
            tokens: { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } },
          },
        }),
      },
      {},
    )
    const gateway = await startPod(documents, 'gateway', gatewaySecret, {
      'sim-billing:8081': billing.address,
    })
    expect(await rpc(`${gateway.url}/v1/simulate`, 'eth_simulateV1', simulation)).toBe(402)
  }, 120_000)

  it('rejects a gateway that sells without its sale settings', () => {
    expect(() => render({ 'billing.enabled': 'true' })).toThrow(/gateway\.sale\.network/)
  })

  it('renders every option', () => {
    const all = render({ ...EVERYTHING, 'serviceMonitor.enabled': 'true' })
    const kinds = new Set(all.map(({ kind }) => kind))
    expect([...kinds].sort()).toEqual([
      'Deployment',
      'HorizontalPodAutoscaler',
      'Ingress',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
      'ServiceMonitor',
      'StatefulSet',
    ])
  })

  it('mounts the journal on a volume per pod, and key files from a Secret', () => {
    const { spec } = render(EVERYTHING).find(({ kind }) => kind === 'StatefulSet')
    const [{ env, volumeMounts }] = spec.template.spec.containers
    const settings = Object.fromEntries(env.map(({ name, value }) => [name, value]))
    expect(settings).toMatchObject({
      CHARGE_JOURNAL_DIR: '/data/charges',
      RECEIPT_KEYS_FILE: '/etc/upfront/receipt-keys.json',
    })
    expect(JSON.parse(settings.LIMITS)).toEqual({ gas: 100_000_000, callsPerSecond: 0 })
    expect(volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/tmp', '/data', '/etc/upfront'])
    expect(spec.volumeClaimTemplates.map(({ metadata }) => metadata.name)).toEqual(['journal'])
    expect(() => render({ 'gateway.files.keys.API_KEYS_FILE': 'keys.json' })).toThrow(/files\.existingSecret/)
  })

  it.each([
    { 'gateway.replica': '3' },
    { 'gateway.envrionment.FOLLOW_HEAD': 'always' },
    { 'gateway.limits.speed': '5' },
    { 'billing.enable': 'true' },
    { 'gateway.sale.asset': '0x12' },
    { 'gateway.files.keys.RECEIPT_KEY': 'a' },
  ])('rejects the values %j', (values) => expect(() => render(values)).toThrow(/schema/))

  const { program: decoder, reason } = helm === undefined ? { reason: '' } : buildProgram('manifests')
  const itWithDecoder = decoder === undefined ? it.skip : it
  // ServiceMonitor is a type of the Prometheus operator, not of Kubernetes.
  itWithDecoder(`is decoded strictly by Kubernetes' own Go types${reason}`, () => {
    const decode = (text) => spawnSync(decoder, [], { input: text, encoding: 'utf8' })
    const between = { ...SALE, 'gateway.autoscaling.enabled': 'true' }
    const alone = { 'gateway.ingress.enabled': 'true', 'gateway.ingress.host': 'simulate.example' }
    for (const values of [{}, alone, SALE, between, EVERYTHING])
      expect(decode(manifests(values))).toMatchObject({ status: 0, stderr: '' })
    const misspelt = manifests(EVERYTHING).replaceAll('readinessProbe:', 'readynessProbe:')
    expect(decode(misspelt).stderr).toContain('unknown field "readynessProbe"')
  })
})

/** Builds a Go program from a folder next to this file, or says why it can't. */
function buildProgram(name) {
  const program = join(folder, name)
  const built = spawnSync('go', ['build', '-o', program, '.'], {
    cwd: join(root, 'scripts/test', name),
    encoding: 'utf8',
  })
  if (built.error !== undefined) return { reason: ' (skipped: go is not installed)' }
  return built.status === 0
    ? { program, reason: '' }
    : { reason: ` (skipped: ${built.stderr.trim().split('\n').at(-1)})` }
}

/** Helm from PATH, or built by `go install helm.sh/helm/v3/cmd/helm@v3.18.4`. */
function findHelm() {
  const go = spawnSync('go', ['env', 'GOPATH'], { encoding: 'utf8' })
  const candidates = ['helm', ...(go.status === 0 ? [join(go.stdout.trim(), 'bin', 'helm')] : [])]
  return candidates.find((candidate) => spawnSync(candidate, ['version']).status === 0)
}
